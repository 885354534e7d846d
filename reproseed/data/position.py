"""How far a pass has come, in plain types, and whether that still means the same in this run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from reproseed.address import Address, Value
from reproseed.data import order as orders
from reproseed.errors import ResumeWarning, StateError, StateMismatchError, warn

if TYPE_CHECKING:
    from reproseed.data.header import Header
    from reproseed.data.sampler import ElasticBatchSampler

FORMAT = 1


class Plan(NamedTuple):
    """One pass: where it is, and the step and position in the epoch's order at which it begins."""

    header: Header
    step: int
    consumed: int
    base_step: int
    base_consumed: int


class Layout(NamedTuple):
    """What a count of steps means. The step ``base_step`` begins at position ``base_consumed``."""

    n: int
    num_samples: int
    global_batch_size: int
    world_size: int
    tail: str
    order: str
    base_step: int = 0
    base_consumed: int = 0

    @classmethod
    def of(cls, sampler: ElasticBatchSampler, plan: Plan | None) -> Layout:
        """Return a sampler's layout in its last pass."""
        base = (0, 0) if plan is None else (plan.base_step, plan.base_consumed)
        return cls(
            sampler.n,
            sampler.num_samples,
            sampler.global_batch_size,
            sampler.place.world_size,
            sampler.tail,
            kind_of(sampler),
            *base,
        )

    @classmethod
    def read(cls, plain: Mapping[str, Any]) -> Layout:
        """Read what `plain` wrote.

        Raises:
            StateError: a field is missing or of the wrong type.
        """
        if plain.get("format") != FORMAT:
            raise StateError(f"the data's position has format {plain.get('format')!r}; {FORMAT} is expected.")
        for name, kind in cls.__annotations__.items():
            wanted: type = str if "str" in str(kind) else int
            if type(plain.get(name)) is not wanted:
                raise StateError(f"the data's position has {name}={plain.get(name)!r}; {wanted.__name__} is expected.")
        return cls(*(plain[name] for name in cls._fields))

    def plain(self) -> dict[str, Any]:
        """Return it as a dict of ints and strings."""
        return {"format": FORMAT, **self._asdict()}

    def state(self, step: int | None, plan: Plan | None, seek: Seek | None) -> dict[str, Any]:
        """Return the layout with the address and the number of samples that all ranks have had."""
        done = step if step is not None else (plan.step if plan else 0)
        where: dict[str, Value] = {} if plan is None else dict(plan.header.address)
        if seek is not None and step is None:  # loaded or sought, and not begun
            done, where = seek.step, dict(seek.address or where)
            if seek.layout is not None:
                moved = self._replace(base_step=seek.layout.base_step, base_consumed=seek.layout.base_consumed)
                return moved.plain() | {"address": where, "step": done, "consumed": moved.consumed(done)}
        return self.plain() | {"address": where, "step": done, "consumed": self.consumed(done)}

    def consumed(self, step: int) -> int:
        """Return the number of samples before a step."""
        done = self.base_consumed + (step - self.base_step) * self.global_batch_size
        return min(done, self.num_samples) if self.tail == "uneven" else done


class Seek(NamedTuple):
    """A step at which the next pass is to begin; with an address, only if that is the pass's."""

    step: int
    layout: Layout | None
    address: Address | None

    @classmethod
    def load(cls, sampler: ElasticBatchSampler, state: Mapping[str, Any]) -> tuple[Seek, dict[str, Value] | None]:
        """Read a state; return what to seek, and the epoch to set for trainers that open no scope."""
        layout = Layout.read(state)
        check_fits(sampler, layout)
        step, where = state.get("step"), state.get("address")
        if type(step) is not int or not isinstance(where, Mapping):
            raise StateError(
                f"the data's position has step={step!r} and address={where!r}; an int and a dict belong there."
            )
        address = Address(**where)
        epoch = address.get("epoch")
        ended = layout.consumed(step) + (layout.global_batch_size if layout.tail == "drop" else 1) > layout.num_samples
        if layout.tail == "carry":
            ended = isinstance(epoch, int) and step >= sampler._steps(epoch, 0, 0)
        if ended and isinstance(epoch, int):
            step, address = 0, address.extended(epoch=epoch + 1)
            layout = layout._replace(base_step=0, base_consumed=0)
        return cls(step, layout, address), (dict(address) if "epoch" in address else None)

    def resolve(self, address: Address, global_batch_size: int) -> tuple[int, tuple[int, int]]:
        """Return the step at which a pass begins, and the base of its positions."""
        elsewhere = self.address is not None and self.address.get("epoch") != address.get("epoch")
        if elsewhere and self.step:
            warn(
                f"the loaded position of the data is step {self.step} of {self.address}, but {address} was entered: it "
                "begins at its first step.",
                ResumeWarning,
            )
        if elsewhere:
            return 0, (0, 0)
        if self.layout is None:
            return self.step, (0, 0)
        if self.layout.global_batch_size == global_batch_size:
            return self.step, (self.layout.base_step, self.layout.base_consumed)
        return self.step, (self.step, self.layout.consumed(self.step))


def kind_of(sampler: ElasticBatchSampler) -> str:
    """Return what makes a sampler's order, with the parameters that it depends on."""
    if sampler.order is not None:
        return "given"
    if not sampler.shuffle:
        return "sequential"
    if sampler.n <= orders.THRESHOLD:
        return f"permutation/{orders.THRESHOLD}"
    return f"feistel/{orders.ROUNDS}"


def check_fits(sampler: ElasticBatchSampler, saved: Layout) -> None:
    """Raise if a saved count of steps means something else in this run."""
    present = Layout.of(sampler, None)
    for name in ("n", "num_samples", "tail", "order"):
        was, now = getattr(saved, name), getattr(present, name)
        if was != now:
            raise StateMismatchError(
                f"the position was saved with {name}={was!r}, this loader has {name}={now!r}: resume with the same "
                "data and the same arguments, or begin the epoch anew."
            )
    if saved.global_batch_size == present.global_batch_size:
        return
    if sampler._each is not None:
        times, per_rank = "\N{MULTIPLICATION SIGN}", saved.global_batch_size // saved.world_size
        raise StateMismatchError(
            f"Saved global batch {saved.global_batch_size} ({saved.world_size} {times} {per_rank}), now "
            f"{present.global_batch_size} ({present.world_size} {times} {sampler._each}): pass "
            f"global_batch_size={saved.global_batch_size}."
        )
    if saved.tail == "carry":
        raise StateMismatchError(
            f"Saved global batch {saved.global_batch_size}, now {present.global_batch_size}: with tail='carry' it "
            "cannot change inside a run, as the epochs' ends would move."
        )
