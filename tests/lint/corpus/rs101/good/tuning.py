import optuna
import torch


def objective(trial):
    torch.manual_seed(0)
    rate = trial.suggest_float("rate", 1e-4, 1e-1, log=True)
    return train(rate)


def train(rate):
    return float(torch.rand(1)) * rate


optuna.create_study().optimize(objective, n_trials=20)
