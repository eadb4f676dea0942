"""Embedding lookup. Where the head reads the same table, the gradients of both are added without a second V x E matrix.

V rows, E width. `lookup` must equal `F.embedding`, which is the plain function, and `table_view` a plain view.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from tiedlm.kernels.tracing import device_type, is_traced


def lookup(table: Tensor, ids: Tensor) -> Tensor:
    """Rows of table (V, E) by ids (B, T): (B, T, E)."""
    reads = None if torch.compiler.is_compiling() else _LOOKUPS.get()
    if reads is None or device_type(table) != "cpu":  # a GPU would wait to know how many different rows there are
        return F.embedding(ids, table.view_as(table))
    return reads.lookup(table, ids)


def table_view(table: Tensor) -> Tensor:
    """The table (V, E) as the head reads it: a view with an autograd node of its own."""
    reads = None if torch.compiler.is_compiling() else _LOOKUPS.get()
    view = None if reads is None else reads.view_of(table)
    return table.view_as(table) if view is None else view


class TableLookups:
    """The lookups of one forward pass, each with a view of its table for a head that reads the same one."""

    def __init__(self) -> None:
        self._lookups: list[tuple[Tensor, Tensor, _Joined]] = []  # table, view of it, whether their gradients join

    def lookup(self, table: Tensor, ids: Tensor) -> Tensor:
        """As the function `lookup`."""
        joined = _Joined()
        vectors, view = _Lookup.apply(table, ids, joined)  # type: ignore[no-untyped-call]
        self._lookups.append((table, view, joined))
        rows: Tensor = vectors
        return rows

    def view_of(self, table: Tensor) -> Tensor | None:
        """The view that a lookup in `table` left, None where there was none."""
        return next((view for looked_up, view, _ in self._lookups if looked_up is table), None)

    def join(self, weight: Tensor) -> None:
        """Have the gradients of a lookup and of the head's `weight` added in one, if that is the lookup's view."""
        for _, view, joined in self._lookups:
            if view is weight:
                joined.value = True


_LOOKUPS: ContextVar[TableLookups | None] = ContextVar("table_reads", default=None)


@contextmanager
def shared_tables() -> Iterator[TableLookups]:
    """Inside the block, lookup and head of one forward pass may share a table; at its end call `TableLookups.join`."""
    reads = TableLookups()
    token = _LOOKUPS.set(reads)
    try:
        yield reads
    finally:
        _LOOKUPS.reset(token)


class _Joined:
    """Whether the gradient of the head comes to the same autograd node as that of the lookup."""

    value = False


class _Lookup(torch.autograd.Function):
    """The rows that ids name, and a view of the table; the gradients of both are added here.

    Where they join, the gradient of the rows is not materialized as a dense V x E matrix: the rows are added in place
    to the gradient of the view, or make a sparse matrix where that has none. The sums are the same to the last bit.
    Where they do not join, it is the gradient of `F.embedding`.
    """

    @staticmethod
    def forward(ctx: Any, table: Tensor, ids: Tensor, joined: _Joined) -> tuple[Tensor, Tensor]:
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(ids)
        ctx.shape, ctx.joined = table.shape, joined
        return F.embedding(ids, table), table.view_as(table)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, rows_grad: Tensor | None, view_grad: Tensor | None) -> tuple[Tensor | None, None, None]:
        """rows_grad (B, T, E), view_grad (V, E)."""
        if rows_grad is None:
            return view_grad, None, None
        (ids,) = ctx.saved_tensors
        if not ctx.joined.value:
            gradient = torch.ops.aten.embedding_dense_backward(rows_grad, ids, ctx.shape[0], -1, False)
            return gradient if view_grad is None else gradient + view_grad, None, None
        if is_traced():  # a trace cannot tell how many different rows there are; they take little memory
            return view_grad, None, None
        return _joined_gradient(rows_grad, ids, view_grad, ctx.shape), None, None


def _joined_gradient(rows_grad: Tensor, ids: Tensor, view_grad: Tensor | None, shape: torch.Size) -> Tensor:
    """The sum, which takes the place of `view_grad`; sparse where that is None."""
    rows, places = ids.flatten().unique(return_inverse=True)
    sums = rows_grad.new_zeros(len(rows), shape[1]).index_add_(0, places, rows_grad.flatten(0, -2))
    if view_grad is None:
        return torch.sparse_coo_tensor(rows.unsqueeze(0), sums, shape, is_coalesced=True, check_invariants=False)
    # which the head has made for this alone: nothing else reads it
    return view_grad.contiguous().index_add_(0, rows, sums)


def scaled_gradient(vectors: Tensor, factor: float) -> Tensor:
    """`vectors` as they are; their gradient is multiplied by `factor`."""
    result: Tensor = _ScaledGradient.apply(vectors, factor)  # type: ignore[no-untyped-call]
    return result


class _ScaledGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, vectors: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        return vectors.view_as(vectors)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return gradient * ctx.factor, None
