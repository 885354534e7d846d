"""A character model on a text file."""

import torch
from torch import nn

torch.manual_seed(1337)
with open("input.txt", encoding="utf-8") as file:
    text = file.read()
chars = sorted(set(text))
stoi = {ch: i for i, ch in enumerate(chars)}
itos = dict(enumerate(chars))
data = torch.tensor([stoi[c] for c in text])
cut = int(0.9 * len(data))
train_data, val_data = data[:cut], data[cut:]


def get_batch(split, block=64, batch=32):
    source = train_data if split == "train" else val_data
    starts = torch.randint(len(source) - block, (batch,))
    return torch.stack([source[i : i + block] for i in starts])


model = nn.Sequential(nn.Embedding(len(chars), 32), nn.Linear(32, len(chars)))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(1000):
    x = get_batch("train")
    loss = nn.functional.cross_entropy(model(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        print(step, loss.item())
