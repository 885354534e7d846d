import torch

from data import pick_examples, split_indices


def main(seed=1):
    torch.manual_seed(seed)
    train, val = split_indices(50_000, 0.9, seed)
    return train, val, pick_examples(list(train), seed)


if __name__ == "__main__":
    main()
