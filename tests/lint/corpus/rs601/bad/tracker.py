import csv

import wandb


def report(step, loss, path):
    wandb.log({"loss": round(loss.item(), 3)}, step=step)  # expect: RS601
    with open(path, "a") as file:
        csv.writer(file).writerow([step, "%.3f" % loss.item()])  # expect: RS601
