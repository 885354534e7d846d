import torch
import reproseed as rs


def train_one_epoch(model, loader, optimizer, epoch):
    for batch in loader:
        model(batch).mean().backward()
        optimizer.step()


def main(resume, model, loader, optimizer):
    if resume:
        model.load_state_dict(torch.load("model.pt"))  # expect: RS304
        optimizer.load_state_dict(torch.load("optimizer.pt"))
        rs.load_state_dict(torch.load("run.pt"))
    for epoch in range(100):
        train_one_epoch(model, loader, optimizer, epoch)
        torch.save(model.state_dict(), "model.pt")
        torch.save(optimizer.state_dict(), "optimizer.pt")
        torch.save(rs.state_dict(), "run.pt")
