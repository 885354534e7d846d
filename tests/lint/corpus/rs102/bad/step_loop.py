import numpy as np


def fit(policy, env, total_steps, seed):
    step = 0
    while step < total_steps:
        np.random.seed(seed)  # expect: RS102
        noise = np.random.normal(size=4)
        env.step(policy(env.state) + noise)
        step += 1
