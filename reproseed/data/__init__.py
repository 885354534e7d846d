"""Data loading whose order and draws are functions of the place in the run.

`seeded_loader` is the whole of it: `SampleSeeded` gives each sample streams of its own, `ElasticBatchSampler` gives an
epoch one order for any number of ranks, `IterableSeeded` does for streams what can be done for them. `seed_worker`,
`address` and `sample_rng` serve loaders of one's own.
"""

from __future__ import annotations

from reproseed.data.addressed import address
from reproseed.data.drawing import sample_rng
from reproseed.data.iterable import IterableSeeded
from reproseed.data.loader import SeededLoader, seeded_loader
from reproseed.data.sampler import ElasticBatchSampler
from reproseed.data.samples import SampleSeeded
from reproseed.data.workers import seed_child, seed_worker

__all__ = [
    "ElasticBatchSampler",
    "IterableSeeded",
    "SampleSeeded",
    "SeededLoader",
    "address",
    "sample_rng",
    "seed_child",
    "seed_worker",
    "seeded_loader",
]
