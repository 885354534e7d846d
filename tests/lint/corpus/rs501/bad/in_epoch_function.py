import reproseed as rs


def evaluate(model, loader):
    return sum(model(batch).item() for batch in loader) + run(model, loader)


def validate(model, loader):
    total = 0.0
    for batch in loader:
        total += model(batch).item()
    return total


def run(model, loader):
    return 0.0


@rs.seeded_epoch
def train_one_epoch(model, train_loader, valid_loader, epoch):
    for step, batch in rs.steps(train_loader):
        model(batch).mean().backward()
        if step % 100 == 0:
            validate(model, valid_loader)  # expect: RS501
