from concurrent.futures import ThreadPoolExecutor, as_completed

import torch


def load_all(paths, read):
    images = []
    with ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(read, p) for p in paths]
        for future in as_completed(futures):  # expect: RS208
            images.append(future.result())
    return torch.stack(images)
