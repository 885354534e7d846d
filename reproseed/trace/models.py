"""Names for what has none: the models of a run, their parameters, its optimizers."""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from reproseed.trace.fingerprint import tensor_digest

if TYPE_CHECKING:
    import torch

_PLAIN = (bool, int, float, str, type(None))


class Model:
    """A module that was called from outside of any other, and the names inside it."""

    def __init__(self, module: torch.nn.Module, label: str) -> None:
        self.label = label
        self._module = weakref.ref(module)
        self.names: dict[int, str] = {}
        self.read_names(module)

    def read_names(self, module: torch.nn.Module) -> None:
        """Read the names of all modules."""
        self.names = {id(part): name for name, part in module.named_modules()}

    @property
    def module(self) -> torch.nn.Module | None:
        """The module, while it lives."""
        return self._module()


class Models:
    """All models and optimizers seen so far, each with a label: its class, and a number from the second on."""

    def __init__(self) -> None:
        self._models: dict[int, Model] = {}
        self._optimizers: dict[int, tuple[Any, str]] = {}
        self._counts: Counter[str] = Counter()
        self._trained: set[int] = set()

    def model(self, module: torch.nn.Module) -> Model:
        """Return the model of a module that is called from outside."""
        known = self._models.get(id(module))
        if known is None or known.module is not module:
            known = Model(module, self._label(module))
            self._models[id(module)] = known
        return known

    def optimizer(self, optimizer: torch.optim.Optimizer) -> str:
        """Return the label of an optimizer; its parameters count as trained from now on."""
        known = self._optimizers.get(id(optimizer))
        if known is None or known[0]() is not optimizer:
            known = (weakref.ref(optimizer), self._label(optimizer))
            self._optimizers[id(optimizer)] = known
        for group in optimizer.param_groups:
            self._trained.update(id(p) for p in group["params"])
        return known[1]

    def trained(self) -> list[Model]:
        """Return the models that live and hold a parameter which an optimizer has stepped."""
        alive = [m for m in self._models.values() if m.module is not None]
        return [m for m in alive if any(id(p) in self._trained for p in m.module.parameters())]  # type: ignore[union-attr]  # alive

    def alive(self) -> list[Model]:
        """Return the models that live and have parameters that can get a gradient."""
        return [m for m in self._models.values() if m.module is not None and _trainable(m.module)]

    def parameter_names(self) -> dict[int, str]:
        """Return the names of all parameters of the models that live; the largest model that holds one names it."""
        names: dict[int, str] = {}
        for model in self._models.values():
            module = model.module
            if module is not None:
                for name, parameter in module.named_parameters():
                    longer = f"{model.label}.{name}"
                    if len(longer) >= len(names.get(id(parameter), "")):
                        names[id(parameter)] = longer
        return names

    def _label(self, thing: object) -> str:
        name = type(thing).__name__
        self._counts[name] += 1
        return name if self._counts[name] == 1 else f"{name}#{self._counts[name]}"


def _trainable(module: torch.nn.Module) -> bool:
    return any(p.requires_grad for p in module.parameters())


def settings(module: torch.nn.Module) -> dict[str, str]:
    """Return for each part of a model its class, its `extra_repr` and its plain public attributes."""
    found = {}
    for name, part in module.named_modules():
        plain = {
            key: value
            for key, value in vars(part).items()
            if not key.startswith("_") and key != "training" and _is_plain(value)
        }
        frozen = [key for key, parameter in part.named_parameters(recurse=False) if not parameter.requires_grad]
        found[name] = f"{type(part).__name__}({part.extra_repr()}) {plain}" + (f" frozen: {frozen}" if frozen else "")
    return found


def modes(module: torch.nn.Module) -> dict[str, bool]:
    """Return for each part of a model whether it is in training mode."""
    return {name: part.training for name, part in module.named_modules()}


def tensors(named: Iterator[tuple[str, torch.Tensor | None]]) -> dict[str, str]:
    """Return the digest of each named tensor."""
    return {name: tensor_digest(one) for name, one in named if one is not None}


def _is_plain(value: object) -> bool:
    return isinstance(value, _PLAIN) or (
        isinstance(value, (tuple, list)) and len(value) < 64 and all(map(_is_plain, value))
    )
