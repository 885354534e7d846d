import torch
from torch import nn
from transformers import AutoModel, get_linear_schedule_with_warmup, set_seed


class Head(nn.Module):
    def __init__(self, name, classes):
        super().__init__()
        self.body = AutoModel.from_pretrained(name)
        self.drop = nn.Dropout(0.1)
        self.out = nn.Linear(self.body.config.hidden_size, classes)

    def forward(self, **inputs):
        return self.out(self.drop(self.body(**inputs).last_hidden_state[:, 0]))


def main(args, loader):
    set_seed(args.seed)
    model = Head(args.name, 2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5)
    scheduler = get_linear_schedule_with_warmup(optimizer, 0, args.epochs * len(loader))
    for epoch in range(args.epochs):
        model.train()
        for batch in loader:
            labels = batch.pop("labels")
            nn.functional.cross_entropy(model(**batch), labels).backward()
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
