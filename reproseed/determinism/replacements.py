"""Operations whose plain form adds in an order that changes on a device, written with operations of a fixed order.

Each gives the values and gradients of the plain operation, rounded in another place at most. On the CPU the plain
operation has a fixed order, so it is called, unless ``everywhere`` is given. On CUDA ``index_put`` with
``accumulate=True``, also as a gradient, sorts before it adds, whatever the mode; on the CPU it does so only while
deterministic algorithms are on.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

_BLOCK = 16


def index_add(
    input: Tensor,  # noqa: A002 - torch's name
    dim: int,
    index: Tensor,
    source: Tensor,
    *,
    alpha: float = 1,
    everywhere: bool = False,
) -> Tensor:
    """Return ``torch.index_add(input, dim, index, source, alpha=alpha)``.

    Args:
        input: any shape, floating.
        dim: the dimension that ``index`` counts.
        index: int64 of shape (n,), in ``[0, input.size(dim))``.
        source: shaped as ``input`` but for ``n`` in ``dim``.
        alpha: factor of ``source``.
        everywhere: use the form of fixed order on the CPU too.

    >>> index_add(torch.zeros(2), 0, torch.tensor([1, 1]), torch.ones(2))
    tensor([0., 2.])
    """
    if _repeats(input) and not everywhere:
        return torch.index_add(input, dim, index, source, alpha=alpha)
    moved = source.movedim(dim, 0)
    return input.movedim(dim, 0).index_put((index,), moved * alpha, accumulate=True).movedim(0, dim)


def index_select(input: Tensor, dim: int, index: Tensor, *, everywhere: bool = False) -> Tensor:  # noqa: A002 - torch's name
    """Return ``torch.index_select(input, dim, index)``, whose gradient is added up in a fixed order.

    Args:
        input: any shape.
        dim: the dimension to choose from.
        index: int64 of shape (n,).
        everywhere: use the form of fixed order on the CPU too.

    >>> index_select(torch.arange(3.0), 0, torch.tensor([2, 2]))
    tensor([2., 2.])
    """
    if _repeats(input) and not everywhere:
        return torch.index_select(input, dim, index)
    return input.movedim(dim, 0)[index].movedim(0, dim)


def gather(input: Tensor, dim: int, index: Tensor, *, everywhere: bool = False) -> Tensor:  # noqa: A002 - torch's name
    """Return ``torch.gather(input, dim, index)``, whose gradient is added up in a fixed order.

    Args:
        input: any shape with at least one dimension.
        dim: the dimension to choose from.
        index: int64, as many dimensions as ``input``, no larger in the others.
        everywhere: use the form of fixed order on the CPU too.

    >>> gather(torch.arange(4.0).reshape(2, 2), 1, torch.tensor([[1], [0]]))
    tensor([[1.],
            [2.]])
    """
    if _repeats(input) and not everywhere:
        return torch.gather(input, dim, index)
    return input[_coordinates(index, dim)]


def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor, *, everywhere: bool = False) -> Tensor:  # noqa: A002 - torch's name
    """Return ``torch.scatter_add(input, dim, index, src)``.

    Args:
        input: any shape with at least one dimension, floating.
        dim: the dimension that ``index`` counts.
        index: int64, as many dimensions as ``input``, no larger than ``src`` in any, nor than ``input`` in the others.
        src: what is added.
        everywhere: use the form of fixed order on the CPU too.

    >>> scatter_add(torch.zeros(2), 0, torch.tensor([1, 1]), torch.ones(2))
    tensor([0., 2.])
    """
    if _repeats(input) and not everywhere:
        return torch.scatter_add(input, dim, index, src)
    part = src[tuple(slice(size) for size in index.shape)]
    return input.index_put(_coordinates(index, dim), part, accumulate=True)


def cumsum(input: Tensor, dim: int, *, everywhere: bool = False) -> Tensor:  # noqa: A002 - torch's name
    """Return ``torch.cumsum(input, dim)``, as sums of two numbers a place, in an order that the length alone decides.

    Blocks of 16 are summed by shifting, the blocks' totals likewise, and so on.

    Source: W. D. Hillis, G. L. Steele, Data parallel algorithms, CACM 29 (1986).

    Args:
        input: any shape with at least one dimension, floating or complex.
        dim: the dimension to sum along.
        everywhere: use the form of fixed order on the CPU too.

    >>> cumsum(torch.ones(3), 0)
    tensor([1., 2., 3.])
    """
    if _repeats(input) and not everywhere:
        return torch.cumsum(input, dim)
    return _scan(input.movedim(dim, 0)).movedim(0, dim)


def _scan(values: Tensor) -> Tensor:
    """Return the running sums along the first dimension."""
    length, rest = values.shape[0], values.shape[1:]
    if length <= _BLOCK:
        return _scan_by_shifts(values, 0)
    fill = -length % _BLOCK
    padded = torch.cat((values, values.new_zeros(fill, *rest))) if fill else values
    blocks = _scan_by_shifts(padded.reshape(-1, _BLOCK, *rest), 1)
    before = torch.cat((values.new_zeros(1, *rest), _scan(blocks[:-1, -1])))
    return (blocks + before[:, None]).reshape(-1, *rest)[:length]


def _scan_by_shifts(values: Tensor, dim: int) -> Tensor:
    length, shift = values.shape[dim], 1
    while shift < length:
        moved = values.narrow(dim, shift, length - shift) + values.narrow(dim, 0, length - shift)
        values = torch.cat((values.narrow(dim, 0, shift), moved), dim)
        shift *= 2
    return values


def upsample_bilinear(
    input: Tensor,  # noqa: A002 - torch's name
    size: tuple[int, int] | None = None,
    scale_factor: float | None = None,
    *,
    align_corners: bool = False,
    everywhere: bool = False,
) -> Tensor:
    """Return ``torch.nn.functional.interpolate(..., mode="bilinear")``, as one matrix product a dimension.

    On CUDA the products repeat where ``CUBLAS_WORKSPACE_CONFIG`` is set, as under `deterministic`.

    Args:
        input: shape (batch, channels, height, width), floating.
        size: height and width of the result.
        scale_factor: the factor, instead.
        align_corners: whether the corner pixels' centres stay where they are.
        everywhere: use the form of fixed order on the CPU too.

    Returns:
        Shape (batch, channels, *size), dtype as ``input``.

    Raises:
        ValueError: not exactly one of ``size`` and ``scale_factor`` is given.

    >>> upsample_bilinear(torch.ones(1, 1, 2, 2), scale_factor=2).shape
    torch.Size([1, 1, 4, 4])
    """
    if (size is None) == (scale_factor is None):
        raise ValueError(f"upsample_bilinear(): exactly one of size={size} and scale_factor={scale_factor} is wanted.")
    if _repeats(input) and not everywhere:
        return functional.interpolate(input, size, scale_factor, "bilinear", align_corners)
    old = (input.shape[-2], input.shape[-1])
    new = size if size is not None else tuple(int(n * (scale_factor or 1)) for n in old)
    rows, columns = (_weights(o, n, scale_factor, align_corners, input) for o, n in zip(old, new, strict=True))
    return rows @ input @ columns.T


def _repeats(tensor: Tensor) -> bool:
    """Whether torch's plain operations add in a fixed order where the tensor is."""
    return tensor.device.type == "cpu"


def _coordinates(index: Tensor, dim: int) -> tuple[Tensor, ...]:
    """Return where each element of an index points, one tensor a dimension."""
    places = [
        torch.arange(n, device=index.device).view([-1 if d == axis else 1 for d in range(index.dim())])
        for axis, n in enumerate(index.shape)
    ]
    places[dim] = index
    return tuple(places)


def _weights(old: int, new: int, factor: float | None, align_corners: bool, like: Tensor) -> Tensor:
    """Return the matrix (new, old) of one dimension's interpolation."""
    at = torch.arange(new, dtype=torch.float64, device=like.device)
    if align_corners:
        at = at * ((old - 1) / (new - 1) if new > 1 else 0.0)
    else:
        at = ((at + 0.5) * (old / new if factor is None else 1 / factor) - 0.5).clamp(min=0)
    below = at.floor().long().clamp(max=old - 1)
    above = (below + 1).clamp(max=old - 1)
    share = at - below
    matrix = torch.zeros(new, old, dtype=torch.float64, device=like.device)
    row = torch.arange(new, device=like.device)
    matrix[row, below] = 1 - share
    matrix[row, above] += share
    return matrix.to(like.dtype)
