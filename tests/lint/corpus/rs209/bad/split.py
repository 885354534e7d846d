from sklearn.model_selection import train_test_split


def load(x, y):
    x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.2, stratify=y)  # expect: RS209
    return x_train, x_test, y_train, y_test
