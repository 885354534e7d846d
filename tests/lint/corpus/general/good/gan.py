import torch
from torch import nn


def train(generator, discriminator, loader, epochs, latent=64):
    opt_g = torch.optim.Adam(generator.parameters(), lr=2e-4)
    opt_d = torch.optim.Adam(discriminator.parameters(), lr=2e-4)
    loss = nn.BCEWithLogitsLoss()
    fixed = torch.randn(16, latent, generator=torch.Generator().manual_seed(0))
    for epoch in range(epochs):
        for real, _ in loader:
            fake = generator(torch.randn(len(real), latent))
            opt_d.zero_grad()
            d_loss = loss(discriminator(real), torch.ones(len(real), 1))
            d_loss = d_loss + loss(discriminator(fake.detach()), torch.zeros(len(real), 1))
            d_loss.backward()
            opt_d.step()
            opt_g.zero_grad()
            loss(discriminator(fake), torch.ones(len(real), 1)).backward()
            opt_g.step()
        print(epoch, generator(fixed).mean().item())
