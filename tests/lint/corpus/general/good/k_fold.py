import numpy as np
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

SEED = 11
x, y = load_iris(return_X_y=True)
scores = []
for train, test in StratifiedKFold(5, shuffle=True, random_state=SEED).split(x, y):
    model = LogisticRegression(random_state=SEED, max_iter=500).fit(x[train], y[train])
    scores.append(model.score(x[test], y[test]))
print(np.mean(scores), np.std(scores))
