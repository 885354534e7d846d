import concurrent.futures

import numpy as np


def preprocess(jobs, work, out):
    with concurrent.futures.ProcessPoolExecutor() as pool:
        pending = [pool.submit(work, job) for job in jobs]
        for done in concurrent.futures.as_completed(pending):  # expect: RS208
            out.write(np.array2string(done.result()) + "\n")
