import pandas as pd


def load(path):
    frame = pd.read_csv(path).sample(frac=1.0).reset_index(drop=True)  # expect: RS209
    return frame[:800], frame[800:]
