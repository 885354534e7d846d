import torch as t
from torch import optim
import reproseed as rs


def train(net, loader, resume_path=None):
    opt = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    state = t.load(resume_path) if resume_path else None  # expect: RS301
    rs.init(master_seed=3, resume=state and state["rng"])
    if state:
        net.load_state_dict(state["net"])
    for epoch in rs.epochs(10):
        with rs.seeded(task="train", epoch=epoch):
            for step, batch in rs.steps(loader):
                opt.zero_grad()
                net(batch).mean().backward()
                opt.step()
        t.save({"net": net.state_dict(), "rng": rs.state_dict()}, "run.pt")
