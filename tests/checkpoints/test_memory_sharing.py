"""Whether two tensors are one memory, however one is laid over the other."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import tiedlm
from tests.support.planted_modules import D, V


def test_transposed_and_viewed_memory_is_told() -> None:
    table = nn.Parameter(torch.randn(V, D))
    model = nn.Module()
    model.register_parameter("table", table)
    model.register_parameter("turned", nn.Parameter(table.data.T))
    model.register_parameter("part", nn.Parameter(table.data[2:]))
    model.register_parameter("other", nn.Parameter(table.data.clone()))
    views = {
        "turned": ("same storage", "transposed"),
        "part": ("same storage", "viewed"),
        "other": ("equal values", ""),
    }
    for name, expected in views.items():
        found = tiedlm.diagnose(model, input="table", output=name, probe=False)
        assert (found.relation, found.view) == expected


def test_two_parts_of_one_memory_that_do_not_meet_are_different() -> None:
    flat = torch.randn(2 * V, D)  # as FSDP keeps parameters
    model = nn.Module()
    model.register_parameter("first", nn.Parameter(flat[:V]))
    model.register_parameter("second", nn.Parameter(flat[V:]))
    assert tiedlm.diagnose(model, input="first", output="second", probe=False).relation == "different"


@pytest.fixture
def mesh(tmp_path: Path) -> Iterator[Any]:
    """A mesh of this process alone."""
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh

    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        yield init_device_mesh("cpu", (1,))
    finally:
        dist.destroy_process_group()


def test_of_distributed_matrices_the_parts_that_lie_here_are_compared(mesh: Any) -> None:
    from torch.distributed.tensor import distribute_tensor

    values = torch.randn(V, D)
    model = nn.Module()
    for name, tensor in (("first", values), ("equal", values.clone()), ("other", values + 1)):
        model.register_parameter(name, nn.Parameter(distribute_tensor(tensor, mesh)))
    equal, other = (tiedlm.diagnose(model, input="first", output=name, probe=False) for name in ("equal", "other"))
    assert (equal.relation, other.relation) == ("equal values", "different")
    assert equal.is_distributed and "DTensor" in str(equal)
