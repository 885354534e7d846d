import reproseed as seeder
from torch.utils.data import DataLoader

seeder.init(master_seed=1)
loader = DataLoader(range(8), num_workers=1, persistent_workers=True)  # expect: RS211
for epoch in range(3):
    seeder.reseed(1, epoch)
    print(list(loader))
