"""examples/ddp_elastic.py: killed at random moments, and resumed on another number of ranks."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import launch
import pytest
import torch.distributed.fsdp

pytestmark = [pytest.mark.distributed, pytest.mark.slow]
HERE = Path(__file__)


SHARDED = pytest.mark.skipif(
    not hasattr(torch.distributed.fsdp, "fully_shard"), reason="this torch has no public fully_shard"
)
EQUAL = ("steps", "batches", "shared draws", "private draws")


@pytest.mark.parametrize(
    ("moments", "options"), [pytest.param(10, [], id="ddp"), pytest.param(2, ["--sharded"], id="fsdp2", marks=SHARDED)]
)
def test_a_rank_killed_at_random_moments_loses_nothing_and_repeats_nothing(tmp_path, moments, options):
    """4 ranks, one of them killed, resumed on 2: batches, augmentations and streams equal; losses by rounding."""
    script = HERE.with_name("kill_ranks.py")
    done = launch.run_killing(
        [sys.executable, str(script), str(tmp_path), str(moments), *options], launch.environment(), 280
    )
    assert done.returncode == 0, done.stdout[-6000:]
    result = json.loads(done.stdout.splitlines()[-1])
    assert len(result["found"]) == moments
    assert len({one["after"] for one in result["found"]}) > 1
    for one in result["found"]:
        assert {name: one[name] for name in EQUAL} == dict.fromkeys(EQUAL, True), one
        assert one["loss"] < 1e-4, one
        assert one["seen"] == [2], "each sample is trained on once an epoch, whatever was killed"
        if one["saved"] is not None:
            epoch, step = (int(part) for part in one["saved"].split("-"))
            following = [epoch, step + 1] if step < 3 else [epoch + 1, 0]
            assert one["first"] == (None if following == [2, 0] else following), one
        else:
            assert one["first"] == [0, 0]


@pytest.mark.parametrize(
    "options", [pytest.param([], id="ddp"), pytest.param(["--sharded"], id="fsdp2", marks=SHARDED)]
)
def test_the_example_prints_that_only_losses_differ(options):
    example = HERE.parents[2] / "examples" / "ddp_elastic.py"
    done = launch.run_killing([sys.executable, str(example), "--samples", "288", *options], launch.environment(), 280)
    assert done.returncode == 0, done.stdout[-6000:]
    assert "DIFFERENT" not in done.stdout
    assert done.stdout.count(" equal") == 5
    assert "losses         differ by" in done.stdout
