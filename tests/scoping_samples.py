"""Decorated callables of every kind, importable by name so that they can be pickled and sent to a spawned child."""

from __future__ import annotations

import contextlib
import functools
import random

import reproseed as rs

scope = rs.seeded(master_seed=5, task="sample", restore=True)


def plain(a=1, *, b=2):
    """Tell of itself."""
    return a, b, random.random()


decorated = rs.seeded(master_seed=5, task="sample", restore=True)(plain)  # under another name than its own


@scope
def function(a=1, *, b=2):
    """Tell of itself."""
    return a, b, random.random()


@scope
def generator(a=1, *, b=2):
    """Tell of itself."""
    yield a, b, random.random()


@scope
async def coroutine(a=1, *, b=2):
    """Tell of itself."""
    return a, b, random.random()


@scope
async def async_generator(a=1, *, b=2):
    """Tell of itself."""
    yield a, b, random.random()


@scope
def returns_generator(a=1, *, b=2):
    """Tell of itself."""
    return generator.__wrapped__(a, b=b)


@scope
def returns_coroutine(a=1, *, b=2):
    """Tell of itself."""
    return coroutine.__wrapped__(a, b=b)


@scope
def returns_async_generator(a=1, *, b=2):
    """Tell of itself."""
    return async_generator.__wrapped__(a, b=b)


class Callable:
    """Called as it is."""

    def __call__(self, a=1, *, b=2):
        """Tell of itself."""
        return a, b, random.random()


class Sample:
    """Methods of every kind."""

    epoch = 3

    @scope
    def method(self, a=1, *, b=2):
        """Tell of itself."""
        return a, b, random.random()

    @classmethod
    @scope
    def class_above(cls, a=1, *, b=2):
        """Tell of itself."""
        return a, b, random.random()

    @scope
    @classmethod
    def class_below(cls, a=1, *, b=2):
        """Tell of itself."""
        return a, b, random.random()

    @staticmethod
    @scope
    def static_above(a=1, *, b=2):
        """Tell of itself."""
        return a, b, random.random()

    @scope
    @staticmethod
    def static_below(a=1, *, b=2):
        """Tell of itself."""
        return a, b, random.random()

    @scope
    def generator_method(self, a=1, *, b=2):
        """Tell of itself."""
        yield a, b, random.random()

    @scope
    async def coroutine_method(self, a=1, *, b=2):
        """Tell of itself."""
        return a, b, random.random()

    @rs.seeded_epoch(task="train")
    def train(self, epoch):
        """Train."""
        return epoch, random.random()

    @rs.seeded_epoch(task="train", epoch="self.epoch")
    def train_own(self):
        """Train."""
        return self.epoch, random.random()


class Child(Sample):
    """Inherits them."""

    @scope
    def method(self, a=1, *, b=2):
        """Tell of itself."""
        return super().method(a, b=b)


partial = scope(functools.partial(plain, 1))
callable_object = scope(Callable())
lambda_ = scope(lambda a=1, *, b=2: (a, b, random.random()))
builtin = scope(random.random)


@contextlib.contextmanager
@scope
def context(a=1, *, b=2):
    """Tell of itself."""
    yield a, b, random.random()


def call_in_child(pickled: bytes) -> object:
    """Unpickle a callable and call it; what a spawned child does."""
    import pickle

    return pickle.loads(pickled)()
