import pytest

from reproseed.verify.arms import Plan, derive_seed
from reproseed.verify.errors import UsageError


def test_derived_seeds_are_frozen():
    """A report names its seeds: another version must make the same runs."""
    assert [derive_seed(42, "other", i) for i in range(3)] == [509548940, 104026913, 37716217]


def test_neighbouring_seeds_and_purposes_share_none():
    seeds = [derive_seed(m, p, i) for m in range(50) for p in ("other", "init") for i in range(20)]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= s < 2**31 for s in seeds)


def test_a_resumed_run_follows_its_own_half_run():
    chains = Plan(repeats=2).chains()
    assert [("half", 1), ("resume", 1)] in chains
    assert sum(len(c) for c in chains) == 4 * 2 + 1


def test_every_arm_is_begun_before_any_is_repeated():
    order = [run for chain in Plan(repeats=3).chains() for run in chain]
    assert {arm for arm, _ in order[:5]} == {"full", "half", "resume", "unseeded", "other"}


def test_other_seeds_are_as_many_as_repeats_where_they_are_the_only_control():
    plan = Plan(repeats=3, arms=("full", "other"))
    assert plan.runs_of("other") == 3
    assert len({plan.seed_of("other", i) for i in range(3)} | {plan.seed}) == 4


@pytest.mark.parametrize(("level", "repeats"), [("bitwise", 3), ("rounding", 3), ("statistical", 8)])
def test_repeats_by_default(level, repeats):
    assert Plan(level=level).runs_each == repeats


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param({"level": "exact"}, "level is 'exact'; it must be one of bitwise", id="level"),
        pytest.param({"arms": ("full", "hal")}, "unknown arm 'hal'; the arms are", id="arm"),
        pytest.param({"arms": ("half",)}, "the arms must include full", id="without full"),
        pytest.param({"arms": ("full", "resume")}, "resume needs the arm half", id="without half"),
        pytest.param({"repeats": 1}, "repeats is 1; the bitwise level needs at least 2", id="one"),
        pytest.param({"repeats": 3, "level": "statistical"},
                     "repeats is 3; the statistical level needs at least 4", id="statistics of 3"),
        pytest.param({"epochs": 1}, "epochs is 1; to stop and resume, a run needs at least 2", id="one epoch"),
        pytest.param({"half": 4}, "half is 4 of 4 epochs", id="half is whole"),
        pytest.param({"seed": -1}, r"seed is -1; it must lie in \[0, 2\*\*64\)", id="seed"),
    ],
)  # fmt: skip
def test_a_plan_that_cannot_be_carried_out_is_refused(arguments, message):
    with pytest.raises(UsageError, match=message):
        Plan(**arguments)
