import reproseed as rs
import torch


def fit(model, train_loader, val_loader, epochs):
    for epoch in rs.epochs(epochs):
        with rs.seeded(task="train", epoch=epoch):
            for step, batch in rs.steps(train_loader):
                model(batch).mean().backward()
            with torch.no_grad():
                for batch in val_loader:  # expect: RS501
                    model(batch)
