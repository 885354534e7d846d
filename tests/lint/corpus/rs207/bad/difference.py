import torch


def unseen_speakers(all_speakers, known):
    speakers = list(set(all_speakers) - set(known))  # expect: RS207
    return torch.arange(len(speakers)), speakers
