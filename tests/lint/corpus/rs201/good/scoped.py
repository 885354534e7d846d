import reproseed as rs
from torch.utils.data import DataLoader


def fit(dataset, epochs):
    loader = DataLoader(dataset, batch_size=16, shuffle=True)
    for epoch in rs.epochs(epochs):
        with rs.seeded(task="train", epoch=epoch):
            for step, batch in rs.steps(loader):
                print(step, batch)
