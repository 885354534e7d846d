"""A training script as the guide of NVIDIA's fwr13y seeder builds it, with only the import changed.

python examples/fwr13y_guide.py --seed 42 --epochs 4 --checkpoint run.pt
python examples/fwr13y_guide.py --seed 42 --epochs 4 --checkpoint run.pt --resume
torchrun --nproc-per-node 2 examples/fwr13y_guide.py --seed 42
"""

import argparse
import os
import random

import torch
import torch.distributed as dist
from sklearn.datasets import load_digits

import reproseed as seeder  # was: import fwr13y.seeder.pyt as seeder


class Shift:
    """Moves a picture sideways when called. It owns a generator, as the speech perturbations of the guide do."""

    def __init__(self):
        self.rng = random.Random()

    def reseed_rng(self, seed):
        """Take the seed that the seeder gives at every epoch."""
        self.rng.seed(seed)

    def __call__(self, picture):
        """Return the picture, moved."""
        return torch.roll(picture, self.rng.randint(-1, 1), dims=-1)


class Digits(torch.utils.data.Dataset):
    """The handwritten digits that scikit-learn ships: 8 by 8 pixels, ten classes."""

    def __init__(self, transforms, count=512):
        digits = load_digits()
        self.pictures = torch.tensor(digits.images[:count], dtype=torch.float32) / 16
        self.labels = torch.tensor(digits.target[:count])
        self.transforms = transforms

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        picture = self.pictures[index]
        for transform in self.transforms:
            picture = transform(picture)
        return picture, self.labels[index]


def parse(argv=None):
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--stop-after", type=int, default=None, help="end early, as a job that is preempted")
    parser.add_argument("--checkpoint", default="fwr13y_guide.pt")
    parser.add_argument("--resume", action="store_true")
    return parser.parse_args(argv)


def train(model, optimizer, loader):
    """Train for one epoch; return the mean loss."""
    model.train()
    total = 0.0
    for pictures, labels in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(pictures), labels)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


def main(argv=None):
    """Train, or go on training; return losses, weights and the seed."""
    args = parse(argv)
    world_size = int(os.environ.get("WORLD_SIZE", 1))
    local_rank = int(os.environ.get("LOCAL_RANK", 0))
    if world_size > 1:
        dist.init_process_group("gloo")

    seeder.init(master_seed=args.seed, ngpus=world_size, local_rank=local_rank)
    args.seed = seeder.get_master_seed()
    seeder.reseed(0, 0)  # task 0, the initialisation

    transforms = [Shift(), Shift()]
    for transform in transforms:
        seeder.register_generator(transform.reseed_rng)
    layers = [
        torch.nn.Flatten(),
        torch.nn.Linear(64, 32),
        torch.nn.ReLU(),
        torch.nn.Dropout(0.2),
        torch.nn.Linear(32, 10),
    ]
    model = torch.nn.Sequential(*layers)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    net = torch.nn.parallel.DistributedDataParallel(model) if world_size > 1 else model  # spreads rank 0's weights
    dataset = Digits(transforms)
    sampler = torch.utils.data.DistributedSampler(dataset, rank=local_rank, num_replicas=world_size, shuffle=True)
    loader = torch.utils.data.DataLoader(dataset, batch_size=32, shuffle=False, sampler=sampler)

    first = 0
    if args.resume:
        checkpoint = torch.load(args.checkpoint)
        model.load_state_dict(checkpoint["model"])
        optimizer.load_state_dict(checkpoint["optimizer"])
        first = checkpoint["epoch"]
    losses = []
    for epoch in range(first, args.stop_after or args.epochs):
        seeder.reseed(1, epoch)  # task 1, the training
        loader.sampler.set_epoch(epoch)
        losses.append(train(net, optimizer, loader))
        if local_rank == 0:
            print(f"seed {args.seed}  epoch {epoch}  loss {losses[-1]:.6f}")
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch + 1}
            torch.save(state, args.checkpoint)
    for transform in transforms:
        seeder.unregister_generator(transform.reseed_rng)
    if dist.is_initialized():
        dist.destroy_process_group()
    return {"losses": losses, "weights": [one.detach().clone() for one in model.parameters()], "seed": args.seed}


if __name__ == "__main__":
    main()
