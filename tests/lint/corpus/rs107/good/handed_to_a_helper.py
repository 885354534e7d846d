import torch


def seed_generator(generator, seed):
    generator.manual_seed(seed)


noise = torch.Generator()
seed_generator(noise, 4)
print(torch.rand(2, generator=noise))
