from reproseed import seeded, steps


def train(model, loader, epoch):
    with seeded(task="train", epoch=epoch) as scope:
        for images, labels in steps(loader):  # expect: RS702
            model(images, labels).backward()
        for x, y in scope.steps(loader):  # expect: RS702
            model(x, y).backward()
