import torch


def main(path, inputs):
    model = torch.jit.load(path)
    model.eval()
    teacher = torch.nn.Linear(2, 2).eval()
    for x in inputs:
        print(model(x), teacher(x))
