"""A training script that resumes, whole or with a part left out: examples of the rules on it."""

_LINES = {
    "": """
import torch
from torch.optim.lr_scheduler import StepLR
from torch.cuda.amp import GradScaler
import reproseed as rs

def main(args, model, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = StepLR(optimizer, 10)
    scaler = GradScaler()
    start_epoch = 0
    if args.resume:
        state = torch.load(args.resume)
        model.load_state_dict(state["model"])
""",
    "optimizer": '        optimizer.load_state_dict(state["optimizer"])\n',
    "scheduler": '        scheduler.load_state_dict(state["scheduler"])\n',
    "scaler": '        scaler.load_state_dict(state["scaler"])\n',
    "epoch": '        start_epoch = state["epoch"]\n',
    "rng": '        rs.load_state_dict(state["rng"])\n',
    "loop": """
    for epoch in range(start_epoch, args.epochs):
        for batch in loader:
            scaler.scale(model(batch)).backward()
        state = {"model": model.state_dict(), "epoch": epoch + 1, "rng": rs.state_dict()}
        torch.save(state, "last.pt")
""",
}


def resuming_script(without: str = "") -> str:
    """A script that takes everything back from its checkpoint, but for the part named.

    >>> "optimizer.load_state_dict" in resuming_script(without="optimizer")
    False
    """
    return "".join(text for part, text in _LINES.items() if part != without or not without)
