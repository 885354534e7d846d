import reproseed as rs
from tqdm import tqdm


def train(model, loader, epoch):
    with rs.seeded(task="train", epoch=epoch) as scope:
        for step, (images, labels) in rs.steps(loader):
            model(images, labels).backward()
        for i, batch in tqdm(scope.steps(loader, name="second")):
            model(batch, None).backward()
        for pair in rs.steps(loader, name="third"):
            step, batch = pair
            model(batch, None).backward()
        for step, _ in rs.steps(100, name="fourth"):
            print(step)
        count = len(rs.steps(loader, name="fifth"))
        steps = list(range(count))
        for batch in model.steps(loader):
            print(batch, steps)
