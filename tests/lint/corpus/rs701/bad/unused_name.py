import reproseed as seeder


def evaluate(model, loader):
    scope = seeder.seeded(task="eval", restore=True)  # expect: RS701
    return [model(batch) for batch in loader]
