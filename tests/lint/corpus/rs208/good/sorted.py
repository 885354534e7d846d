import multiprocessing as mp

import numpy as np


def sizes(paths, measure):
    with mp.Pool(4) as pool:
        measured = list(pool.imap_unordered(measure, paths))
    measured.sort()
    total = sum(pool.imap_unordered(measure, paths))
    return np.array(measured), total
