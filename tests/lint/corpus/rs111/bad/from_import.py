from os import environ, putenv


def fix_hashes():
    environ["PYTHONHASHSEED"] = "0"  # expect: RS111
    putenv("PYTHONHASHSEED", "0")  # expect: RS111
