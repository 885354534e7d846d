from concurrent.futures import ThreadPoolExecutor, as_completed

import torch


def load_all(paths, read):
    images = [None] * len(paths)
    with ThreadPoolExecutor(8) as pool:
        futures = {pool.submit(read, p): i for i, p in enumerate(paths)}
        for future in as_completed(futures):
            images[futures[future]] = future.result()
    return torch.stack(images)
