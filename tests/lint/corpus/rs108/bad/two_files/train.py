import reproseed as rs

from noise import Diffusion


@rs.seeded_epoch(task="train")
def train_one_epoch(model, loader, epoch):
    diffusion = Diffusion(1000)
    for step, batch in rs.steps(loader):
        model(batch + diffusion.noise(batch.shape)).mean().backward()
