import reproseed as rs

from data import build


@rs.seeded_epoch(task="train")
def train(model, loader, epoch):
    for step, batch in rs.steps(loader):
        model(batch).backward()


def main(dataset, model):
    loader = build(dataset, 4)
    for epoch in rs.epochs(3):
        train(model, loader, epoch)
