from concurrent.futures import ThreadPoolExecutor, as_completed

import numpy as np


def check_files(paths, check):
    failures = []
    arrays = {}
    with ThreadPoolExecutor(8) as pool:
        futures = {pool.submit(check, p): p for p in paths}
        for future in as_completed(futures):
            try:
                arrays[futures[future]] = np.asarray(future.result())
            except OSError as error:
                failures.append((futures[future], error))
    return [arrays[p] for p in paths if p in arrays], failures
