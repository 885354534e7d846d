import torch


class Trainer:
    def resume(self, path):
        saved = torch.load(path)
        self.model.load_state_dict(saved["model"])
        torch.set_rng_state(saved["random"])
        self.epoch = saved["epoch"]

    def fit(self, epochs):
        for epoch in range(self.epoch, epochs):
            for count, batch in enumerate(self.train_loader):
                self.model(batch).mean().backward()
                if count == self.save_at:
                    torch.save(dict(model=self.model.state_dict(), epoch=epoch), "mid.pt")  # expect: RS306
