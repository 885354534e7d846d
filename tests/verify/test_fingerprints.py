import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from reproseed.verify.fingerprints import SAMPLED, fingerprint, fingerprint_state


def test_fingerprints_are_frozen():
    """Reports of different versions are compared."""
    state = {"w": torch.arange(6, dtype=torch.float32).reshape(2, 3), "lr": 0.1, "n": [1, None]}
    found = {path: entry["hash"] for path, entry in fingerprint_state(state).items()}
    assert found == {
        "w": "ef7889eb2cedd226c4fc8832a9be2c68",
        "lr": "4d8e993928516396ca83244a8a633f49",
        "n/0": "fcdac4c3ffe104559a17d3315f5df626",
        "n/1": "0af79886d4a6e5231eaea6212b882fe4",
    }


def test_layout_in_memory_does_not_matter():
    dense = torch.arange(12.0).reshape(3, 4)
    strided = torch.arange(12.0).reshape(3, 4).t().contiguous().t()
    view = torch.arange(24.0).reshape(3, 8)[:, :4].clone()[:, ::1]
    assert not strided.is_contiguous()
    assert fingerprint(dense) == fingerprint(strided)
    assert fingerprint(view) != fingerprint(dense)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (torch.zeros(4), torch.zeros(2, 2)),
        (torch.zeros(4), torch.zeros(4, dtype=torch.float64)),
        (torch.zeros(4), torch.zeros(4, dtype=torch.int32)),
        (torch.tensor(0.0), torch.tensor(-0.0)),
        (torch.tensor([1.0, 2.0]), torch.tensor([2.0, 1.0])),
        (torch.empty(0), torch.empty(0, 3)),
        (0.0, -0.0),
        (1, 1.0),
        (1, True),
        ("1", 1),
        (b"1", "1"),
    ],
    ids=str,
)
def test_what_differs_has_another_hash(a, b):
    assert fingerprint(a)["hash"] != fingerprint(b)["hash"]


@pytest.mark.parametrize(
    "dtype",
    [torch.bfloat16, torch.float16, torch.float32, torch.float64, torch.complex64, torch.bool,
     torch.uint8, torch.int64, torch.float8_e4m3fn],
    ids=str,
)  # fmt: skip
def test_every_dtype_has_a_fingerprint_of_its_bits(dtype):
    a = torch.ones(3).to(dtype)
    b = a.clone()
    assert fingerprint(a) == fingerprint(b)
    b.view(torch.uint8)[0] ^= 1
    assert fingerprint(a)["hash"] != fingerprint(b)["hash"]


def test_special_tensors_count_by_their_values():
    dense = torch.eye(3)
    assert fingerprint(dense.to_sparse())["hash"] == fingerprint(dense)["hash"]
    complex_ = torch.view_as_complex(torch.arange(4.0).reshape(2, 2))
    assert fingerprint(complex_.conj()) == fingerprint(complex_.conj().resolve_conj())
    assert fingerprint(torch.nn.Parameter(dense)) == fingerprint(dense)


def test_tensor_and_array_of_equal_bits_are_equal():
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert fingerprint(array) == fingerprint(torch.from_numpy(array))
    assert fingerprint(np.asfortranarray(array)) == fingerprint(array)


def test_paths_name_everything_that_a_training_holds(monkeypatch, tmp_path):
    # The first optimizer of a process sets this variable if it is missing.
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    model = torch.nn.BatchNorm1d(2)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.randn(4, 2)).sum().backward()
    optimizer.step()
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    found = fingerprint_state({"model": model, "optimizer": optimizer, "scheduler": scheduler})
    expected = {"model/running_mean", "optimizer/state/0/exp_avg", "optimizer/param_groups/0/lr",
                "scheduler/last_epoch"}  # fmt: skip
    assert expected <= set(found)


def test_a_state_that_is_empty_differs_from_one_that_is_not():
    assert set(fingerprint_state({"optimizer": {"state": {}}})) == {"optimizer/state"}


@given(st.integers(1, 200))
def test_the_sample_has_first_and_last_and_a_bounded_size(size):
    sample = fingerprint(torch.arange(size))["sample"]
    assert len(sample) == min(size, SAMPLED)
    assert (sample[0], sample[-1]) == (0, size - 1)
    assert sample == sorted(set(sample))
