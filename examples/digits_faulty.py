r"""digits.py with one fault planted: a resumed run does not load its optimizer's state, the commonest of all.

    reproseed verify --epochs 2 --half 1 --repeats 2 -- \
        python examples/digits_faulty.py --epochs {epochs} [[--seed {seed}]] [[--resume {resume}]] --save {save}

Every loss looks plausible; `verify` says no, and where and why the runs part.
"""

from __future__ import annotations

import runpy
from pathlib import Path

import torch

if __name__ == "__main__":
    torch.optim.SGD.load_state_dict = lambda self, state_dict: None  # the fault
    runpy.run_path(str(Path(__file__).with_name("digits.py")), run_name="__main__")
