import torch


class Trainer:
    def resume(self, path):
        state = torch.load(path)
        self.model.load_state_dict(state["model"], False)  # expect: RS307
        torch.set_rng_state(state["rng"])
        self.step = state["step"]

    def train_step(self, batch):
        self.model(batch).mean().backward()
        torch.save({"model": self.model.state_dict(), "step": self.step,
                    "rng": torch.get_rng_state()}, "a.pt")
