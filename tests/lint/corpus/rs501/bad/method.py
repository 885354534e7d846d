import reproseed as rs


class Trainer:
    def evaluate(self, data):
        for x, y in data:
            self.metric.update(self.model(x), y)

    def fit(self, epochs):
        for epoch in rs.epochs(epochs):
            with rs.seeded(task="training", epoch=epoch):
                for step, batch in rs.steps(self.train_loader):
                    self.model(batch).backward()
                self.evaluate(self.val_loader)  # expect: RS501
