import pandas as pd
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split
from sklearn.utils import shuffle


def load(path, seed):
    frame = pd.read_csv(path).sample(frac=1.0, random_state=seed)
    train, test = train_test_split(frame, random_state=seed)
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    return shuffle(train, random_state=seed), test, folds
