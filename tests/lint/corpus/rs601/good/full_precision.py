import json
import sys


def report(step, loss, lr, seconds, path):
    print(f"step {step}: loss {loss:.3f}")
    sys.stderr.write(f"loss {loss:.3f}\n")
    with open(path, "a") as file:
        file.write(json.dumps({"step": step, "loss": loss}) + "\n")
        file.write(f"took {seconds:.1f} s\n")
