"""What a dataset holds is told apart by order and by content, without asking for an item."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.utils.data import Dataset, Subset

from reproseed.trace.contents import contents, plain_attributes


class Files(Dataset):
    def __init__(self, names, images=None, transform=None):
        self.names, self.images, self.transform = names, images, transform

    def __len__(self):
        return len(self.names)

    def __getitem__(self, index):
        raise AssertionError("no item may be asked for")


def test_a_list_in_another_order_differs_in_order_alone():
    one, other = (contents(Files(names))[0]["names"] for names in (["a", "b"], ["b", "a"]))
    assert one[0] == other[0] == "list of 2 str"
    assert one[1] != other[1]
    assert one[2] == other[2]


@pytest.mark.parametrize("make", [torch.tensor, np.array, list], ids=["tensor", "array", "list"])
def test_other_content_differs_in_both(make):
    one, other = (contents(Files(["a"], make(v)))[0]["images"] for v in ([1.0, 2.0], [1.0, 3.0]))
    assert one[1] != other[1]
    assert one[2] != other[2]


def test_datasets_inside_datasets_and_transforms_are_walked():
    class Noise:
        def __init__(self):
            self.scale, self.function, self.me = 0.5, len, self

    found, size = contents(Subset(Files(["a", "b", "c"], transform=[Noise()]), [0, 2]))
    assert size == 2
    assert {"indices", "dataset.names", "dataset.transform[0].scale"} <= set(found)


def test_what_has_no_length_and_no_attributes_is_fine():
    assert contents(iter([1])) == ({}, None)


def test_attributes_of_a_sampler_are_told_as_text():
    class Sampler:
        def __init__(self):
            self.epoch, self.weights, self.dataset = 3, torch.ones(2), Files([])

    found = plain_attributes(Sampler())
    assert found["epoch"] == "3"
    assert found["weights"].startswith("float32[2] ")
    assert "dataset" not in found
