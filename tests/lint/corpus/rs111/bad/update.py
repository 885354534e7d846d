import os

os.environ.update({"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"})  # expect: RS111
