"""`seeded_loader`: lazy, resumed by arithmetic, and its position is the run's."""

from __future__ import annotations

import copy
import json
import re

import pytest
import torch
from sample_datasets import Noise, Stream, batches, keep
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, SequentialSampler
from torch.utils.data.distributed import DistributedSampler

import reproseed as rs

# The machine that runs the tests may have fewer cores than a test has workers.
pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")

TIMES = "\N{MULTIPLICATION SIGN}"


@pytest.fixture(autouse=True)
def a_run():
    return rs.init(master_seed=7)


def loader_over(n=22, batch_size=4, **options):
    options = {"shuffle": True, "collate_fn": keep} | options
    if "global_batch_size" not in options:
        options["batch_size"] = batch_size
    return rs.data.seeded_loader(Noise(n), **options)


def train(loader, epochs=2, stop=None):
    """Return {(epoch, step): batch} of a run, and the checkpoint at (epoch, step) ``stop``, where the run ends."""
    seen = {}
    for epoch in rs.epochs(epochs):
        with rs.seeded(task="train", epoch=epoch):
            for step, batch in rs.steps(loader):
                seen[epoch, step] = batch
                if stop == (epoch, step):
                    return seen, rs.state_dict()
    return seen, None


@pytest.mark.parametrize("workers", [0, 2], ids=["0-workers", "2-workers"])
@pytest.mark.parametrize("then", [0, 1, 2], ids=["to-0", "to-1", "to-2"])
def test_stopped_at_any_step_it_resumes_with_another_number_of_workers(workers, then):
    expected, _ = train(loader_over())
    stops = [(e, s) for e in range(2) for s in range(6)] if workers == then == 0 else [(0, 0), (0, 4), (0, 5), (1, 2)]
    for stop in stops:
        rs.init(master_seed=7)
        seen, state = train(loader_over(num_workers=workers, persistent_workers=workers > 0), stop=stop)
        rs.init(resume=state)
        rest, _ = train(loader_over(num_workers=then))
        assert seen | rest == expected
        assert not seen.keys() & rest.keys()


@pytest.mark.parametrize(("before", "after"), [(1, 2), (2, 4), (4, 1)])
def test_stopped_at_any_step_it_resumes_on_another_number_of_ranks(before, after):
    """The state of any one rank serves them all; what the ranks see together is the uninterrupted run's."""

    def world(size, resume=None, stop=None):
        seen, state = {}, None
        for rank in range(size):
            rs.init(resume=resume, rank=rank, world_size=size, **({} if resume else {"master_seed": 7}))
            part, state = train(loader_over(24, global_batch_size=8), stop=stop)
            for key, batch in part.items():
                seen.setdefault(key, []).extend(batch)
        return seen, state

    expected, _ = world(1)
    for stop in [(e, s) for e in range(2) for s in range(3)]:
        seen, state = world(before, stop=stop)
        rest, _ = world(after, resume=state)
        assert seen | rest == expected
        assert not seen.keys() & rest.keys()


@pytest.mark.parametrize("stop", [(0, 1), (0, 5)], ids=["inside", "at-the-end"])
def test_row_18_steps_names_the_global_batch_on_other_ranks(stop):
    rs.init(master_seed=7, rank=0, world_size=4)
    _, state = train(loader_over(24 * 4, 4), stop=stop)
    rs.init(resume=state, rank=0, world_size=2)
    with pytest.raises(rs.StateMismatchError) as caught:
        train(loader_over(24 * 4, 4))
    sentence = f"Saved global batch 16 (4 {TIMES} 4), now 8 (2 {TIMES} 4): pass global_batch_size=16."
    assert str(caught.value) == sentence


def test_row_18_also_where_the_checkpoint_stands_between_epochs():
    rs.init(master_seed=7, rank=0, world_size=4)
    train(loader_over(96), epochs=1)
    state = rs.state_dict()
    rs.init(resume=state, rank=0, world_size=2)
    with pytest.raises(rs.StateMismatchError, match="pass global_batch_size=16"):
        train(loader_over(96))


def test_row_13_a_plain_loader_with_persistent_workers_is_refused_by_steps():
    loader = DataLoader(Noise(), num_workers=1, persistent_workers=True)
    with rs.seeded(task="train", epoch=0), pytest.raises(rs.ScopeError) as caught:
        rs.steps(loader)
    assert str(caught.value) == (
        "Workers that outlive an epoch keep old streams; use rs.data.seeded_loader(...), same arguments, or "
        "persistent_workers=False."
    )


@pytest.mark.parametrize("name", ["sampler", "batch_sampler"])
def test_row_19_a_distributed_sampler_is_refused(name):
    sampler = DistributedSampler(Noise(), num_replicas=4, rank=1)
    given = sampler if name == "sampler" else BatchSampler(sampler, 2, False)
    with pytest.raises(rs.CoordinateTypeError) as caught:
        rs.data.seeded_loader(Noise(), **{name: given})
    assert str(caught.value) == f"seeded_loader already shares the samples out over 4 ranks; remove {name}=."


def test_row_20_outside_a_scope_it_asks_for_the_epoch():
    loader = loader_over()
    with pytest.raises(rs.ScopeError) as caught:
        next(iter(loader))
    assert str(caught.value) == (
        "Which epoch? Iterate inside seeded(task=..., epoch=...) or call loader.set_epoch(e); otherwise every "
        "epoch has the same order."
    )
    loader.set_epoch(3, task="train")
    assert list(loader) == batches(loader, epoch=3)


def test_without_a_run_a_scope_of_its_own_seed_is_enough():
    from reproseed import run

    expected = batches(loader_over())
    run._current = None
    with rs.seeded(master_seed=7, task="train", epoch=0):
        assert list(loader_over()) == expected


@pytest.mark.parametrize("workers", [0, 2])
def test_trap_19_its_position_counts_what_was_handed_out_not_what_was_read_ahead(workers):
    loader = loader_over(num_workers=workers)
    loader.set_epoch(4)
    iterator = iter(loader)
    for _ in range(3):
        next(iterator)
    state = loader.state_dict()
    assert (state["step"], state["consumed"]) == (3, 12)
    assert loader.state_dict(in_flight=1)["step"] == 2


def test_trap_19_at_the_epochs_end_the_next_pass_is_a_whole_next_epoch():
    loader = loader_over()
    loader.set_epoch(4)
    list(loader)
    state = json.loads(json.dumps(loader.state_dict()))
    assert state["step"] == 6
    resumed = loader_over()
    resumed.load_state_dict(state)
    loader.set_epoch(5)
    assert list(resumed) == list(loader)
    assert len(resumed) == 6


@pytest.mark.parametrize("step", range(6))
def test_its_own_state_resumes_at_any_step(step):
    loader = loader_over()
    loader.set_epoch(4)
    expected = list(loader)
    iterator = iter(loader)
    for _ in range(step):
        next(iterator)
    state = loader.state_dict()
    resumed = loader_over(num_workers=0)
    resumed.load_state_dict(state)
    assert list(resumed) == expected[step if step else 0 :] or step == 0
    resumed.load_state_dict(loader.state_dict())
    assert len(resumed) == 6


def test_under_steps_its_position_is_the_runs():
    """Trainers read ahead, so what was handed out is not what was trained on."""
    loader = loader_over()
    with rs.seeded(task="train", epoch=0):
        for step, _ in rs.steps(loader):
            assert loader.state_dict()["step"] == step + 1


def test_trap_20_a_state_is_not_loaded_under_a_pass():
    loader = loader_over(num_workers=2)
    loader.set_epoch(0)
    iterator = iter(loader)
    next(iterator)
    with pytest.raises(rs.ScopeError, match="while a pass is under way would go on with batches from before"):
        loader.load_state_dict(loader.state_dict())
    state = loader.state_dict()
    del iterator
    loader.load_state_dict(state)
    assert len(list(loader)) == 5


@pytest.mark.parametrize("workers", [0, 2])
def test_it_is_lazy(workers):
    loader = loader_over(num_workers=workers)
    iterator = iter(loader)  # no scope, no epoch, nothing begun
    with rs.seeded(task="train", epoch=2):
        assert next(iterator) == batches(loader, epoch=2)[0]


def test_a_seek_to_the_end_is_an_empty_pass_and_len_stays_that_of_an_epoch():
    loader = loader_over()
    loader.start_at(6)
    assert batches(loader) == []
    assert len(loader) == 6


def test_a_newer_pass_over_persistent_workers_ends_the_older_one_with_a_word():
    loader = loader_over(num_workers=1, persistent_workers=True)
    loader.set_epoch(0)
    one, other = iter(loader), iter(loader)
    next(one), next(other)
    with pytest.raises(rs.ScopeError, match="a newer pass over this loader has begun"):
        next(one)


def test_it_wraps_the_real_loader_and_reads_like_it():
    loader = loader_over(24, 4, drop_last=True, num_workers=2, pin_memory=False, timeout=30)
    assert isinstance(loader.dataloader, DataLoader)
    assert not isinstance(loader, DataLoader)
    assert (loader.batch_size, loader.num_workers, loader.timeout, len(loader)) == (None, 2, 30, 6)
    assert loader.batch_sampler.batch_size == 4
    assert hasattr(loader.batch_sampler.sampler, "set_epoch")
    assert isinstance(loader.dataset, rs.data.SampleSeeded)
    assert copy.deepcopy(loader).num_workers == 2


def test_the_inner_loader_alone_draws_the_same():
    """What Accelerate and Trainer take."""
    loader = loader_over()
    expected = batches(loader, epoch=1)
    with rs.seeded(task="train", epoch=1):
        assert list(loader.dataloader) == expected
    loader.dataloader.batch_sampler.seek(4)
    with rs.seeded(task="train", epoch=1):
        assert list(loader.dataloader) == expected[4:]


def test_users_functions_are_chained():
    ran = []
    loader = rs.data.seeded_loader(Noise(4), batch_size=2, worker_init_fn=init_prints, collate_fn=count, num_workers=1)
    assert batches(loader) == [(2, 0.5), (2, 0.5)]
    assert ran == []


MARK = {"seen": 0.0}


def init_prints(worker):
    MARK["seen"] = worker + 0.5


def count(samples):
    return len(samples), MARK["seen"]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_batch_sampler_of_ones_own_is_drawn_at_the_address_and_resumed(workers):
    def make():
        return rs.data.seeded_loader(
            Noise(11),
            batch_sampler=BatchSampler(RandomSampler(range(11)), 3, False),
            num_workers=workers,
            collate_fn=keep,
        )

    expected = batches(make(), epoch=1)
    torch.rand(3)
    assert batches(make(), epoch=1) == expected != batches(make(), epoch=2)
    loader = make()
    loader.start_at(2)
    assert batches(loader, epoch=1) == expected[2:]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"generator": torch.Generator()}, r"seeded_loader\(\) takes no generator=: it has one of its own"),
        ({"batch_size": 4, "global_batch_size": 8}, "takes batch_size= .* or global_batch_size=, not both"),
        ({"shuffle": True, "sampler": SequentialSampler(range(4))}, "takes one of shuffle=, sampler=: each of them is"),
        ({"drop_last": True, "tail": "pad"}, "drop_last=True is tail='drop': pass it or tail='pad', not both"),
        (
            {"batch_sampler": BatchSampler(SequentialSampler(range(4)), 2, False), "batch_size": 3},
            "batch_size= belongs to the batch_sampler that was given",
        ),
    ],
    ids=["generator", "sizes", "orders", "tails", "batches"],
)
def test_arguments_that_exclude_each_other_are_named(options, sentence):
    with pytest.raises(rs.CoordinateTypeError, match=sentence):
        rs.data.seeded_loader(Noise(), **options)


def test_a_last_step_without_anything_for_a_rank_raises_before_the_others_wait():
    rs.init(master_seed=7, rank=3, world_size=4)
    with pytest.raises(rs.CoordinateValueError, match="the last step has 2 samples for 4 ranks"):
        batches(loader_over(10, 2))
    assert len(batches(loader_over(10, 2, tail="pad"))) == 2
    assert len(batches(loader_over(10, 2, drop_last=True))) == 1


def test_seeding_switched_off_seeds_nothing(monkeypatch):
    monkeypatch.setenv("REPROSEED_SEEDING", "off")
    rs.init(master_seed=7)
    one, other = batches(loader_over()), batches(loader_over())
    assert one != other
    assert sorted(i for batch in one for i, *_ in batch) == list(range(22))


def test_own_coordinates_are_part_of_the_address():
    folds = []
    for fold in range(2):
        with rs.seeded(task="train", epoch=0, fold=fold):
            folds.append(list(loader_over()))
    assert folds[0] != folds[1]
    assert not {s[1] for b in folds[0] for s in b} & {s[1] for b in folds[1] for s in b}


def test_loops_inside_a_loop_draw_by_their_place():
    seen = []
    with rs.seeded(task="train", epoch=0):
        for _ in rs.steps(2, name="cycle"):
            seen += [[batch for _, batch in rs.steps(loader_over())]]
    assert seen[0] != seen[1]


def test_a_single_stream_loader_takes_no_order():
    with pytest.raises(rs.CoordinateValueError, match="takes no shuffle= for an iterable dataset"):
        rs.data.seeded_loader(Stream(), shuffle=True)


class Torn(torch.utils.data.Dataset):
    """Some samples raise."""

    def __len__(self):
        return 14

    def __getitem__(self, index):
        if index in (0, 6):
            raise RuntimeError("broken sample")
        return index


def skipping(iterator):
    got = []
    while True:
        try:
            got.append(next(iterator))
        except RuntimeError:
            got.append("skipped")
        except StopIteration:
            return [one.tolist() if isinstance(one, torch.Tensor) else one for one in got]


@pytest.mark.parametrize("workers", [0, 2], ids=["no workers", "two workers"])
def test_a_sample_that_raises_costs_its_batch_alone_as_in_torch(workers):
    rs.init(master_seed=7)
    plain = skipping(iter(torch.utils.data.DataLoader(Torn(), 4, num_workers=workers)))
    loader = rs.data.seeded_loader(Torn(), 4, num_workers=workers)
    with rs.seeded(task="train", epoch=0):
        assert skipping(iter(loader)) == plain == ["skipped", "skipped", [8, 9, 10, 11], [12, 13]]
        assert loader.state_dict()["step"] == 4


def test_a_batch_that_was_skipped_counts_as_a_step_on_resume():
    rs.init(master_seed=7)
    loader, again = (rs.data.seeded_loader(Torn(), 4) for _ in range(2))
    with rs.seeded(task="train", epoch=0):
        iterator = iter(loader)
        for _ in range(2):
            with pytest.raises(RuntimeError):
                next(iterator)
        assert next(iterator).tolist() == [8, 9, 10, 11]
        again.load_state_dict(loader.state_dict())
        del iterator
        assert [batch.tolist() for batch in again] == [[12, 13]]


def test_a_second_pass_in_a_scope_without_an_epoch_is_reported():
    rs.init(master_seed=7)
    loader = rs.data.seeded_loader(range(6), batch_size=6, shuffle=True)
    with rs.seeded(task="train"):
        first = [batch.tolist() for batch in loader]
        with pytest.warns(rs.RepeatedAddressWarning, match=r"names no epoch: order and draws are those of the pass"):
            assert [batch.tolist() for batch in loader] == first
        loader.set_epoch(1)
        assert [batch.tolist() for batch in loader] != first


def test_an_evaluation_that_repeats_itself_is_no_second_pass():
    rs.init(master_seed=7)
    loader = rs.data.seeded_loader(range(6), batch_size=6)
    for _ in range(3):
        with rs.seeded(task="eval", restore=True):
            assert len(list(loader)) == 1
    with rs.seeded(task="train", epoch=0):
        assert len([*loader, *loader]) == 2


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"dataset": None}, "a dataset is wanted"),
        ({"shuffle": "yes"}, "shuffle='yes'): True or False is wanted"),
        ({"drop_last": 1}, "drop_last=1): True or False is wanted"),
        ({"collate_fn": 3}, "collate_fn=3): a function is wanted"),
        ({"worker_init_fn": 3}, "worker_init_fn=3): a function is wanted"),
        ({"order": "x"}, "order='x'): a function of a stream or an array of indices is wanted"),
    ],
    ids=["dataset", "shuffle", "drop_last", "collate_fn", "worker_init_fn", "order"],
)
def test_a_value_that_no_argument_takes_is_refused_when_the_loader_is_made(arguments, sentence):
    with pytest.raises(rs.CoordinateTypeError, match=re.escape(sentence)):
        rs.data.seeded_loader(**({"dataset": range(4)} | arguments))
