import os

import torch
from torch.optim import AdamW
import reproseed as rs


class Trainer:
    def __init__(self, model, folder):
        self.model = model
        self.path = os.path.join(folder, "snapshot.pt")
        self.optimizer = AdamW(model.parameters())
        self.epoch = 0
        if os.path.exists(self.path):
            self.resume()

    def resume(self):
        snapshot = torch.load(self.path)  # expect: RS301
        self.model.load_state_dict(snapshot["MODEL_STATE"])
        self.epoch = snapshot["EPOCHS_RUN"]
        rs.load_state_dict(snapshot["RNG"])

    def save(self):
        torch.save(
            {"MODEL_STATE": self.model.state_dict(), "EPOCHS_RUN": self.epoch, "RNG": rs.state_dict()},
            self.path,
        )

    def step(self, batch):
        self.optimizer.zero_grad()
        self.model(batch).mean().backward()
        self.optimizer.step()
