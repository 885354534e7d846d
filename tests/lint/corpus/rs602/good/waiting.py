import os
import time


def wait_for(path, limit):
    deadline = time.time() + limit
    while not os.path.exists(path):
        if time.time() > deadline:
            raise TimeoutError(path)
        time.sleep(1)
