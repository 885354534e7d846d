import torch


def vocabulary(sentences):
    words = list({w for s in sentences for w in s.split()})
    words.sort()
    return {w: torch.tensor(i) for i, w in enumerate(words)}
