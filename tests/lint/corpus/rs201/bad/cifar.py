import torch
from torchvision import datasets, transforms

train_set = datasets.CIFAR10("data", transform=transforms.ToTensor())
train_loader = torch.utils.data.DataLoader(train_set, batch_size=128, shuffle=True)  # expect: RS201
test_loader = torch.utils.data.DataLoader(train_set, batch_size=128, shuffle=False)
