import reproseed as rs
from torch.utils.data import DataLoader


def fit(dataset, epochs, train_step):
    rs.init(master_seed=5)
    loader = DataLoader(dataset, batch_size=4, num_workers=2, persistent_workers=True)  # expect: RS211
    for epoch in rs.epochs(epochs):
        with rs.seeded(task="train", epoch=epoch):
            for batch in loader:
                train_step(batch)
