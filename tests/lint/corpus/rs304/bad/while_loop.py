import torch


class Job:
    def resume(self, path):
        saved = torch.load(path)  # expect: RS304
        self.model.load_state_dict(saved["weights"])
        torch.set_rng_state(saved["random"])

    def run(self, max_epochs):
        epoch = 0
        while epoch < max_epochs:
            for batch in self.loader:
                self.model(batch).mean().backward()
            torch.save({"weights": self.model.state_dict(), "random": torch.get_rng_state()}, self.path)
            epoch += 1
