"""A function whose backward pass runs under the same flags as its forward.

The forward builds a graph of its own, cut off from the arguments; one autograd node stands for all of it outside, and
its backward runs that graph inside the scope. So the flags are put back whatever happens in it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from reproseed.errors import DecorationError, DeterminismError

if TYPE_CHECKING:
    import torch

    from reproseed.determinism.scope import Deterministic

F = TypeVar("F", bound=Callable[..., Any])


def covered(scope: Deterministic, function: F) -> F:
    """Return the function with forward and backward inside the scope."""
    scope._used = True
    if not callable(function) or inspect.isclass(function):
        raise DecorationError(f"covers_backward decorates functions and methods; {function!r} is none.")
    if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
        raise DecorationError(
            f"covers_backward cannot decorate {function.__name__}: a function that can be suspended has no one forward."
        )

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        import torch

        if not torch.is_grad_enabled():
            with scope:
                return function(*args, **kwargs)
        return _call(scope, function, args, kwargs)

    return call  # type: ignore[return-value]  # same signature, by functools.wraps


def _call(scope: Deterministic, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    import torch
    from torch.utils import _pytree as pytree

    flat, spec = pytree.tree_flatten((args, kwargs))
    places = [i for i, one in enumerate(flat) if isinstance(one, torch.Tensor) and one.requires_grad]
    outer = [flat[i] for i in places]
    inner = [tensor.detach().requires_grad_() for tensor in outer]
    for i, tensor in zip(places, inner, strict=True):
        flat[i] = tensor
    first = torch._C._autograd._get_sequence_nr() if hasattr(torch._C._autograd, "_get_sequence_nr") else 0
    with scope:
        inner_args, inner_kwargs = pytree.tree_unflatten(flat, spec)
        result = function(*inner_args, **inner_kwargs)
    outputs, form = pytree.tree_flatten(result)
    places = [i for i, one in enumerate(outputs) if isinstance(one, torch.Tensor) and one.requires_grad]
    made = [outputs[i] for i in places]
    if not made:
        return result
    leaves = _leaves(made, inner, first, function)
    replaced = _node().apply(scope, made, [*inner, *leaves], *outer, *leaves)
    for i, tensor in zip(places, replaced, strict=True):
        outputs[i] = tensor
    return pytree.tree_unflatten(outputs, form)


def _leaves(
    made: list[torch.Tensor], inner: list[torch.Tensor], first: int, function: Callable[..., Any]
) -> list[torch.Tensor]:
    """Return the leaves that a graph ends in, without the arguments'."""
    known = {id(tensor) for tensor in inner}
    leaves: dict[int, torch.Tensor] = {}
    waiting = [tensor.grad_fn for tensor in made]
    leaves |= {id(t): t for t in made if t.grad_fn is None and id(t) not in known}
    seen: set[Any] = set()
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        leaf = getattr(node, "variable", None)
        if leaf is not None:
            if id(leaf) not in known:
                leaves[id(leaf)] = leaf
            continue
        if node._sequence_nr() < first:
            raise DeterminismError(
                f"covers_backward: {getattr(function, '__name__', function)} uses a tensor that is no argument and has "
                f"a history ({node.name()}); its gradient would be lost. Pass it as an argument."
            )
        waiting.extend(following for following, _ in node.next_functions)
    return list(leaves.values())


@functools.cache
def _node() -> Any:
    import torch

    class Covered(torch.autograd.Function):
        """Outside: the arguments and leaves to the outputs. Its backward runs the graph inside."""

        @staticmethod
        def forward(ctx: Any, scope: Any, made: Any, sinks: Any, *tensors: Any) -> Any:
            ctx.set_materialize_grads(False)
            ctx.scope, ctx.made, ctx.sinks = scope, made, sinks
            return tuple(tensor.detach() for tensor in made)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            if torch.is_grad_enabled():
                raise DeterminismError(
                    "a backward pass with create_graph=True reached a function of covers_backward, which can be "
                    "differentiated once: open the scope around forward and backward instead."
                )
            pairs = [(out, grad) for out, grad in zip(ctx.made, grads, strict=True) if grad is not None]
            if not pairs:
                return (None,) * (3 + len(ctx.sinks))
            made, given = zip(*pairs, strict=True)
            with ctx.scope:
                found = torch.autograd.grad(made, ctx.sinks, given, retain_graph=_keeps_graph(), allow_unused=True)
            return (None, None, None, *found)

    return Covered


def _keeps_graph() -> bool:
    """Whether the backward pass that is running was called with ``retain_graph=True``."""
    import torch

    ask = getattr(torch._C._autograd, "_get_current_graph_task_keep_graph", None)
    return True if ask is None else bool(ask())
