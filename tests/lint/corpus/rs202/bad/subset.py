from torch.utils.data.sampler import RandomSampler, SubsetRandomSampler


def samplers(train_idx, dataset):
    return SubsetRandomSampler(train_idx), RandomSampler(dataset, replacement=True)  # expect: RS202, RS202
