import os
import subprocess
import sys

environment = {**os.environ, "PYTHONHASHSEED": "0"}
subprocess.run([sys.executable, "train.py"], env=environment, check=True)
