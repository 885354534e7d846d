import torch
import torch.multiprocessing as mp


def run_rank(rank, world_size, seed):
    torch.manual_seed(seed)
    model = torch.nn.Linear(8, 8)
    return model


if __name__ == "__main__":
    mp.spawn(run_rank, args=(2, 5), nprocs=2)
