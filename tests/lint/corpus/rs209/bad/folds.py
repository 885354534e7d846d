import sklearn.model_selection as ms


def folds(x):
    yield from ms.KFold(n_splits=5, shuffle=True).split(x)  # expect: RS209
    yield from ms.ShuffleSplit(3, random_state=None).split(x)  # expect: RS209
