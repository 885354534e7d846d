import reproseed as rs
from torch.utils.data import DataLoader


def loaders(dataset):
    rs.init(master_seed=5)
    samples = rs.data.SampleSeeded(dataset)
    own = rs.data.seeded_loader(dataset, num_workers=2, persistent_workers=True)
    plain = DataLoader(samples, num_workers=2, persistent_workers=True)
    short = DataLoader(dataset, num_workers=2, persistent_workers=False)
    return own, plain, short
