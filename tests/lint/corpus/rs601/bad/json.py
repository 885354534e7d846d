import json


def save_metrics(path, loss, accuracy):
    with open(path, "w") as file:
        json.dump({"loss": round(loss, 4), "accuracy": round(accuracy, 2)}, file)  # expect: RS601
