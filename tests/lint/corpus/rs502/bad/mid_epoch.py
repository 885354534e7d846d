def fit(self, loader, every):
    for step, batch in enumerate(loader):
        self.model(batch).mean().backward()
        self.optimizer.step()
        if step % every == 0:
            self.model.eval()  # expect: RS502
            self.report(self.model)
