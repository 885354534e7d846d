"""albumentations: one kept pair of generators for a pipeline, cheap to put on each sample's streams.

A pipeline and each of its transforms have generators of their own, which ignore the process's; under fork every worker
starts with equal copies. `SampleSeeded` finds and seeds them all, sample by sample, at about 20 microseconds each.
`bind` lets the whole pipeline share two. Tried with albumentations 2.0.8, the last under the MIT licence.
"""

from __future__ import annotations

import random
from typing import TypeVar

import numpy as np
from albumentations.core.composition import BaseCompose  # type: ignore[import-not-found, import-untyped, unused-ignore]  # of an extra

C = TypeVar("C", bound=BaseCompose)


def bind(compose: C) -> C:
    """Give a pipeline and all of its transforms one NumPy and one Python generator, and return it.

    Put it into a dataset under `reproseed.data.SampleSeeded`, or register it by
    ``rs.register_generator(within=compose, name="augment")`` to have scopes seed it. Do not call ``set_random_seed`` on
    it afterwards, which would give each transform generators of its own again.

    Args:
        compose: an ``albumentations.Compose`` or another composition; changed in place.

    >>> import albumentations
    >>> from reproseed.integrations.albumentations import bind
    >>> pipeline = bind(albumentations.Compose([albumentations.HorizontalFlip(p=0.5)]))
    """
    compose.set_random_state(np.random.default_rng(0), random.Random(0))
    return compose
