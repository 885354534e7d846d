import reproseed as rs
from torch.utils.data import DataLoader, DistributedSampler


def build(dataset):
    rs.init(master_seed=1)
    sampler = DistributedSampler(dataset)
    rs.register_generator(sampler, name="sampler")
    return DataLoader(dataset, sampler=sampler)
