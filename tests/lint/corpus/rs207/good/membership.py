import torch

STOP = set("the a an of".split())


def count_labels(labels, words):
    known = [w for w in words if w not in set(STOP)]
    return torch.tensor(len(list(set(labels)))), known
