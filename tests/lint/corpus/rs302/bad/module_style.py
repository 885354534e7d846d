import torch
import torch.optim.lr_scheduler as lr_scheduler
import reproseed as rs


class Runner:
    def __init__(self, model):
        self.model = model
        self.optim = torch.optim.Adam(model.parameters())
        self.plateau = lr_scheduler.ReduceLROnPlateau(self.optim, patience=3)

    def resume_from(self, path):
        ckpt = torch.load(path)  # expect: RS302
        self.model.load_state_dict(ckpt["model"])
        self.optim.load_state_dict(ckpt["optim"])
        rs.load_state_dict(ckpt["rng"])
        return ckpt["epoch"]

    def step(self, batch, path, epoch):
        self.model(batch).mean().backward()
        self.optim.step()
        torch.save({"model": self.model.state_dict(), "optim": self.optim.state_dict(),
                    "rng": rs.state_dict(), "epoch": epoch}, path)
