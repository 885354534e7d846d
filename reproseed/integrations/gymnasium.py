"""Gymnasium: each episode begins on a seed that belongs to its place in the run."""

from __future__ import annotations

from typing import Any

import gymnasium  # type: ignore[import-not-found, import-untyped, unused-ignore]  # of an extra

import reproseed as rs
from reproseed import stack
from reproseed.address import Address


class SeededReset(gymnasium.Wrapper[Any, Any, Any, Any]):  # type: ignore[misc, unused-ignore]  # where it is missing
    """An environment whose ``reset()`` seeds itself, and its action space, by the address and the episode's number.

    The n-th reset at one address (inside one scope, in one step of a loop) always begins the same episode, whatever ran
    before. A scope that is entered anew counts from 0 again. Several environments of one run need names of their own.

    Args:
        env: the environment.
        name: of its streams.
        shared: the same episodes on all ranks.

    >>> import gymnasium, reproseed as rs
    >>> from reproseed.integrations.gymnasium import SeededReset
    >>> env = SeededReset(gymnasium.make("CartPole-v1"))
    >>> with rs.seeded(master_seed=1, task="train", epoch=0):
    ...     first, _ = env.reset()
    """

    def __init__(self, env: gymnasium.Env[Any, Any], name: str = "env", shared: bool = False) -> None:
        super().__init__(env)
        self._name = name
        self._shared = shared
        self._at: tuple[int | None, Address | None] = (None, None)
        self._episode = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode.

        Args:
            seed: a seed of the user's own, which is passed on and counts as no episode.
            options: passed on.

        Raises:
            NotInitializedError: there is neither a run nor a scope, and no seed.
        """
        if seed is not None:
            return self._begin(seed, options)
        entry = stack.innermost()
        at = (None, None) if entry is None else (id(entry), entry.address)
        self._episode = self._episode + 1 if at == self._at else 0
        self._at = at
        stream = (rs.stream if entry is None else rs.current().stream)(self._name, shared=self._shared)
        episode = stream.at(episode=self._episode)
        self.env.action_space.seed(episode.at(of="actions").seed(31))
        return self._begin(episode.seed(31), options)

    def _begin(self, seed: int, options: dict[str, Any] | None) -> tuple[Any, dict[str, Any]]:
        begun: tuple[Any, dict[str, Any]] = super().reset(seed=seed, options=options)
        return begun
