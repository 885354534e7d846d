"""Write ``derivation-1.json``, the frozen answers of derivation 1.

    python tests/golden/derivation_1.py --write

The file never changes for a version that has been released: equal addresses give equal streams for ever. Writing it
anew is for adding entries, whose old neighbours must come out unchanged (``git diff`` shows it).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from reproseed.address import Address
from reproseed.sources.numpy import seed_random_state
from reproseed.streams import Stream

FILE = Path(__file__).with_name("derivation-1.json")
LABELS = (
    "python",
    "numpy",
    "torch.cpu",
    "torch.cuda",
    "generator:crop",
    "stream:split",
    "sample.numpy",
    "worker.torch",
)
PLACES: tuple[tuple[int, dict[str, int | str]], ...] = (
    (0, {}),
    (1, {}),
    (0, {"task": 0, "epoch": 0}),
    (0, {"epoch": 0}),
    (42, {"task": "train", "epoch": 3, "rank": 0}),
    (42, {"task": "train", "epoch": 3, "rank": 7, "step": 123_456_789_012}),
    (2**32, {"task": 1}),
    (2**32, {"task": "1"}),
    (2**63, {"task": "", "epoch": -1}),
    (2**64 - 1, {"task": "größe/学習", "epoch": 2**63 - 1, "fold": -(2**63)}),
)


def answers(master_seed: int, coordinates: dict[str, Any], label: str) -> dict[str, Any]:
    """Return what one stream gives: its bytes, and the first draws of each library on it.

    Floats are written as hex, and only draws that are exact on every platform are taken: no normals.
    """
    stream = Stream(master_seed, Address(**coordinates), label)
    python, cpu = stream.python_random(), stream.torch_generator()
    legacy = np.random.RandomState(0)
    seed_random_state(legacy, stream)
    return {
        "bytes": stream.bytes(64).hex(),
        "last of 2504 bytes": stream.bytes(2504)[-16:].hex(),
        "seed 31, 32, 64": [stream.seed(bits) for bits in (31, 32, 64)],
        "python random()": [python.random().hex() for _ in range(3)],
        "numpy words": [int(word) for word in legacy.randint(0, 2**32, size=4, dtype=np.uint32)],
        "numpy random_sample()": float(legacy.random_sample()).hex(),
        "torch initial_seed": cpu.initial_seed(),
        "torch int64": torch.empty(2, dtype=torch.int64, device="cpu").random_(generator=cpu).tolist(),
        "torch int32": torch.empty(2, dtype=torch.int32, device="cpu").random_(generator=cpu).tolist(),
        "torch rand": [x.hex() for x in torch.rand(2, generator=cpu, device="cpu", dtype=torch.float32).tolist()],
        "torch randperm": torch.randperm(8, generator=cpu, device="cpu").tolist(),
        "numpy Generator words": [int(w) for w in stream.numpy_generator().bit_generator.random_raw(2)],
    }


def entries() -> list[dict[str, Any]]:
    """Return all frozen entries."""
    return [
        {"master_seed": master, "coordinates": place, "label": label, "answers": answers(master, place, label)}
        for master, place in PLACES
        for label in LABELS
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", required=True, help="really write the file anew")
    parser.parse_args()
    lines = ",\n".join(json.dumps(entry, ensure_ascii=True) for entry in entries())
    FILE.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
