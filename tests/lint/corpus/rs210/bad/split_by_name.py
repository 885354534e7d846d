from pathlib import Path


def is_validation(path: Path) -> bool:
    return hash(path.stem) % 10 == 0  # expect: RS210
