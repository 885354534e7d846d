import torch

with open("input.txt") as file:
    text = file.read()

chars = list(set(text))  # expect: RS207
stoi = {ch: i for i, ch in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text])
