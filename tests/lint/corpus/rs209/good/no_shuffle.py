from sklearn.model_selection import KFold, TimeSeriesSplit, train_test_split


def by_time(x):
    train, test = train_test_split(x, shuffle=False)
    return KFold(5).split(train), TimeSeriesSplit(3).split(test)
