import torch


def features(tokens, buckets):
    vector = torch.zeros(buckets)
    for token in tokens:
        vector[hash(token) & (buckets - 1)] += 1  # expect: RS210
    return vector
