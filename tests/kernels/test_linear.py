"""A linear map that forms again what it did not keep: the same numbers, and less that is held."""

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from tiedlm.initialization import initialize
from tiedlm.kernels import linear
from tiedlm.kernels.linear import recomputable
from tiedlm.model.layers import ACTIVATIONS, MLP, GatedMLP, LayerNorm, RMSNorm
from tiedlm.model.linear import Linear

IN, OUT = 6, 5
PRECISIONS = pytest.mark.parametrize(
    "precision", [torch.float64, torch.float32, torch.bfloat16, torch.float16], ids=str
)


def swapped(hidden: Tensor) -> Tensor:
    """Whose result lies in memory in another order."""
    return hidden.exp().transpose(-1, -2).contiguous().transpose(-1, -2)


def second_half(hidden: Tensor) -> Tensor:
    """Whose result is a part of something larger."""
    return torch.cat((hidden, hidden.exp()), -1)[..., IN:]


PREPARED: dict[str, Callable[[Tensor], Tensor] | None] = {
    "nothing": None,
    "identity": nn.Identity(),
    "layernorm": LayerNorm(IN, eps=1e-5, bias=True),
    "rmsnorm": RMSNorm(IN, eps=1e-5),
    "swapped": swapped,
    "second_half": second_half,
    **ACTIVATIONS,
}


def built(prepare: Callable[[Tensor], Tensor] | None, bias: bool = True) -> Linear:
    layer = Linear(IN, OUT, bias=bias, init_std=0.5)
    initialize(layer, seed=0)
    if isinstance(prepare, (LayerNorm, RMSNorm)):
        for parameter in prepare.parameters():
            nn.init.normal_(parameter, generator=torch.Generator().manual_seed(1))
    return layer


def test_a_linear_map_starts_normal_with_a_zero_bias() -> None:
    layer = Linear(200, 300, bias=True, init_std=0.05)
    initialize(layer, seed=0)
    assert layer.weight.std().item() == pytest.approx(0.05, rel=0.02)  # 60,000 draws: 0.3 % is one standard error
    assert layer.weight.mean().item() == pytest.approx(0, abs=0.001)
    assert layer.bias is not None and not layer.bias.any()


@PRECISIONS
@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
@pytest.mark.parametrize("prepare", PREPARED.values(), ids=PREPARED)
@pytest.mark.parametrize("many_rows", [1, 10**9], ids=["many rows", "few rows"])
def test_values_and_gradients_are_those_of_torch_to_the_last_bit(
    prepare: Callable[[Tensor], Tensor] | None,
    bias: bool,
    precision: torch.dtype,
    many_rows: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(linear, "MANY_ROWS", many_rows)
    wide = torch.float64 if precision == torch.float64 else torch.float32
    layer = built(prepare, bias).to(wide)
    others = list(prepare.to(wide).parameters()) if isinstance(prepare, nn.Module) else []
    hidden = torch.randn(2, 4, IN, dtype=wide, generator=torch.Generator().manual_seed(2))
    above = torch.randn(2, 4, OUT, generator=torch.Generator().manual_seed(3))

    def found(apply: Callable[[Tensor], Tensor]) -> list[Tensor]:
        leaf = hidden.clone().requires_grad_()
        with torch.autocast("cpu", precision, enabled=precision in (torch.bfloat16, torch.float16)):
            result = apply(leaf)
        inputs = [leaf, *layer.parameters(), *others]
        return [result.detach(), *torch.autograd.grad(result, inputs, above.to(result.dtype))]

    def plain(leaf: Tensor) -> Tensor:
        return F.linear(leaf if prepare is None else prepare(leaf), layer.weight, layer.bias)

    def ours(leaf: Tensor) -> Tensor:
        result: Tensor = layer(leaf if prepare is None else recomputable(prepare, leaf))
        return result

    mine, torchs = found(ours), found(plain)
    assert all(torch.equal(one, other) for one, other in zip(mine, torchs, strict=True))
    assert [each.dtype for each in mine] == [each.dtype for each in torchs]


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16], ids=str)
def test_what_was_prepared_is_let_go_and_prepared_again_once(precision: torch.dtype) -> None:
    made: list[weakref.ref[torch.UntypedStorage]] = []

    def prepare(hidden: Tensor) -> Tensor:
        result = hidden.sin()  # of whose way back it is no part
        made.append(weakref.ref(result.untyped_storage()))
        return result

    layer, hidden = built(None), torch.randn(3, IN, requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16, enabled=precision == torch.bfloat16):
        result = layer(recomputable(prepare, hidden * 1))
    gc.collect()
    assert len(made) == 1 and made[0]() is None
    result.sum().backward()
    assert len(made) == 2
    with torch.no_grad():
        layer(recomputable(prepare, hidden))
    assert len(made) == 3


class Copies(TorchDispatchMode):
    """The storages of 16-bit copies of a matrix (OUT, IN), which it does not hold."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.made: list[weakref.ref[torch.UntypedStorage]] = []

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        if function is torch.ops.aten._to_copy.default and result.shape == (OUT, IN):
            self.made.append(weakref.ref(result.untyped_storage()))
        return result


@pytest.mark.parametrize(("rows", "num_kept"), [(3, 1), (4, 0)])
def test_a_copy_of_the_matrix_is_kept_where_rows_are_few(
    rows: int, num_kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linear, "MANY_ROWS", 4)
    layer, hidden = built(None, bias=False), torch.randn(rows, IN, requires_grad=True)
    with Copies() as copies, torch.autocast("cpu", torch.bfloat16):
        result = layer(hidden)
        gc.collect()
        assert len(copies.made) == 1
        assert sum(each() is not None for each in copies.made) == num_kept, "the cache of autocast has none"
        torch.autograd.grad(result.sum(), [hidden])
    assert len(copies.made) == 2 - num_kept


@pytest.mark.parametrize("layer", [MLP, GatedMLP])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_gradients_of_a_feed_forward_part_pass_finite_differences(layer: type[MLP | GatedMLP], activation: str) -> None:
    part = layer(3, 4, ACTIVATIONS[activation], bias=True, init_std=0.5, output_std=0.5)
    initialize(part, seed=0)
    part.double()
    norm = LayerNorm(3, eps=1e-5, bias=True).double()
    initialize(norm, seed=0)
    hidden = torch.randn(2, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0), requires_grad=True)
    inputs = (hidden, *part.parameters(), *norm.parameters())
    assert torch.autograd.gradcheck(lambda *given: part(norm(given[0])), inputs)


def test_a_compiler_decides_by_itself_what_to_keep() -> None:
    layer, hidden = built(None), torch.randn(3, IN)
    compiled = torch.compile(lambda given: layer(recomputable(F.gelu, given)), backend="eager", fullgraph=True)
    assert torch.equal(compiled(hidden), layer(F.gelu(hidden)))


def test_what_was_changed_after_it_was_formed_is_kept_as_it_is() -> None:
    layer, hidden = built(None), torch.randn(3, IN, requires_grad=True)
    changed = recomputable(torch.exp, hidden.detach()).mul_(2)
    gradient = torch.autograd.grad(layer(changed).sum(), [layer.weight])[0]
    torch.testing.assert_close(gradient, (2 * hidden.detach().exp()).sum(0).expand(OUT, IN))
