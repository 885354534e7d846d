import numpy as np

rng = np.random.default_rng(0)
x = rng.normal(size=(100, 3))
y = x @ np.array([1.0, 2.0, 3.0]) + 0.1 * rng.normal(size=100)
print(np.linalg.lstsq(x, y, rcond=None)[0])
