import numpy as np


def sample(rng, count):
    return rng.normal(size=count)


if __name__ == "__main__":
    rng = np.random.default_rng(5)
    print(sample(rng, 3))
