import torch
import reproseed as rs
from torch.cuda import amp


class Trainer:
    def __init__(self, model):
        self.model = model
        self.opt = torch.optim.AdamW(model.parameters())
        self.loss_scaler = amp.GradScaler(enabled=True)

    def resume(self, path):
        saved = torch.load(path)  # expect: RS303
        self.model.load_state_dict(saved["model"])
        self.opt.load_state_dict(saved["opt"])
        rs.load_state_dict(saved["rng"])
        self.step = saved["step"]

    def train_step(self, batch, path):
        self.loss_scaler.scale(self.model(batch)).backward()
        torch.save({"model": self.model.state_dict(), "opt": self.opt.state_dict(), "step": self.step,
                    "rng": rs.state_dict()}, path)
