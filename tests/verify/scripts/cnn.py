"""A small CNN in torch with dropout, batch norm, Adam, a schedule and an average of its weights.

With `--lose`, a part of its state is not restored on a resume. It does not use the library's
seeding, and reports by log_metric and final_state.
"""

import argparse

import torch
from torch import nn

from reproseed.verify import final_state, log_metric

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, required=True)
parser.add_argument("--seed", type=int)
parser.add_argument("--resume")
parser.add_argument("--save")
parser.add_argument("--lose", default="")
args = parser.parse_args()

if args.seed is None:
    torch.seed()
else:
    torch.manual_seed(args.seed)
base = torch.initial_seed()
data = torch.randn(64, 1, 8, 8, generator=torch.Generator().manual_seed(0))
target = (data.mean((1, 2, 3)) > 0).long()
model = nn.Sequential(
    nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Dropout(0.2), nn.Linear(144, 2)
)
average = torch.optim.swa_utils.AveragedModel(model, use_buffers=True)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
parts = {"model": model, "average": average, "optimizer": optimizer, "scheduler": scheduler}
start = 0
if args.resume:
    state = torch.load(args.resume)
    start = state["epoch"]
    for name, part in parts.items():
        if name == args.lose:
            continue
        if name == "model" and args.lose == "buffers":
            kept = {k: v for k, v in state[name].items() if "running" not in k}
            part.load_state_dict(kept, strict=False)
        else:
            part.load_state_dict(state[name])
for epoch in range(start, args.epochs):
    torch.manual_seed((base + 1000003 * (epoch + 1)) % 2**63)
    model.train()
    for step, batch in enumerate(torch.randperm(64).split(16)):
        loss = nn.functional.cross_entropy(model(data[batch]), target[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        average.update_parameters(model)
        log_metric("loss", loss, step=step, epoch=epoch)
    scheduler.step()
if args.save:
    state = {name: part.state_dict() for name, part in parts.items()}
    torch.save(state | {"epoch": args.epochs}, args.save)
final_state(**parts)
