"""What a model is made of: its parameters by part, the FLOPs of a token, and hashes of the start."""

import hashlib
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.graph import Node, get_gradient_edge
from torch.overrides import TorchFunctionMode

from tiedlm.model.counts import PARTS, ParameterCounts
from tiedlm.model.language_model import LanguageModel
from tiedlm.tying.base import Tying


def count_parameters(model: LanguageModel, seq_len: int) -> ParameterCounts:
    """Exact counts by tensor identity, and training FLOPs a token in windows of `seq_len`; works on the meta device."""
    parts = {part: sum(map(torch.numel, members)) for part, members in parameter_parts(model).items()}
    apart = model.tying.num_input_only()
    parts["shared_embedding"] -= apart
    parts["input_embedding"] += apart
    total = sum(parts.values())
    return ParameterCounts(
        total=total,
        inference_total=total - sum(map(torch.numel, model.tying.idle_at_inference())),
        non_embedding=parts["body"] + parts["final_norm"],
        flops_per_token=flops_per_token(model, seq_len),
        parts=parts,
    )


def parameter_parts(model: LanguageModel) -> dict[str, list[nn.Parameter]]:
    """Every parameter once, under its part of PARTS.

    An embedding's part is found by following autograd back from the tying module: a parameter is reached from the
    vectors, from the scores, or from both. One that neither reaches waits for a later stage of the output.
    """
    inputs, outputs, biases = _input_side(model.tying), _output_side(model.tying), _reached(model.tying.output_bias())

    def part_of(parameter: nn.Parameter) -> str:
        if parameter in biases:
            return "output_bias"
        if parameter in inputs:
            return "shared_embedding" if parameter in outputs else "input_embedding"
        return "output_embedding"

    parts: dict[str, list[nn.Parameter]] = {part: [] for part in PARTS}
    for parameter in model.tying.parameters():
        parts[part_of(parameter)].append(parameter)
    parts["positions"] = [] if model.positions is None else list(model.positions.parameters())
    parts["body"] = list(model.body.parameters())
    parts["final_norm"] = list(model.final_norm.parameters())
    return parts


def flops_per_token(model: LanguageModel, seq_len: int) -> int:
    """Floating-point operations that one token of a window of `seq_len` costs in training.

    Three times the forward pass, since backward forms two products where forward forms one (Kaplan et al. 2020,
    section 2.1). Forward: two for each entry of a matrix that a token is multiplied with, the output embedding among
    them whether it is shared or not; and attention over the whole window (see the body). A lookup costs nothing.
    A test compares this with torch's own counter, which would take a second of imports here.
    """
    scores = 2 * model.tying.output_weight().numel()
    return 3 * (model.body.forward_flops_per_token(seq_len) + model.tying.forward_flops_per_token() + scores)


def hash_body(model: LanguageModel) -> str:
    """SHA-256 over the names and fp32 values of everything but the embeddings: positions, body, final norm."""
    digest = hashlib.sha256()
    for name, parameter in model.named_parameters():
        if not name.startswith("tying."):
            digest.update(name.encode())
            digest.update(_bytes(parameter))
    return digest.hexdigest()


def hash_input_embedding(model: LanguageModel) -> str | None:
    """SHA-256 over the fp32 values of the (V, D) matrix that ids are looked up in; None where that is not one."""
    return hash_input_table(model.tying)


def hash_input_table(tying: Tying) -> str | None:
    """`hash_input_embedding` of the embeddings alone."""
    reached = _input_side(tying)
    if len(reached) != 1:
        return None
    (embedding,) = reached
    return hashlib.sha256(_bytes(embedding)).hexdigest()


def _bytes(parameter: Tensor) -> memoryview:
    return parameter.detach().to("cpu", torch.float32).contiguous().numpy().data


class _FirstRow(TorchFunctionMode):
    """Has every lookup take a table's first row, whatever the ids: one on the meta device imports sympy, 0.4 s."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is F.embedding:
            ids, table = args[:2]
            return table[:1].expand(*ids.shape, -1)
        return func(*args, **(kwargs or {}))


def _one_vector(tying: Tying) -> Tensor:
    """What the body reads of a token, (1, 1, D)."""
    ids = torch.zeros(1, 1, dtype=torch.long, device=next(tying.parameters()).device)
    with _FirstRow():
        return tying.embed(ids)


@torch.enable_grad()
def _input_side(tying: Tying) -> set[nn.Parameter]:
    return _reached(_one_vector(tying))


@torch.enable_grad()
def _output_side(tying: Tying) -> set[nn.Parameter]:
    hidden = _one_vector(tying).detach()
    return _reached(tying.output_weight()) | _reached(tying.project(hidden))


def _reached(output: Tensor | None) -> set[nn.Parameter]:
    """The parameters that autograd reaches from `output`."""
    if output is None or not output.requires_grad:
        return set()
    reached: set[nn.Parameter] = set()
    seen: set[Node] = set()
    waiting = [get_gradient_edge(output).node]
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        leaf = getattr(node, "variable", None)  # only the node that adds up a leaf's gradient has it
        if isinstance(leaf, nn.Parameter):
            reached.add(leaf)
        waiting += [below for below, _ in node.next_functions if below is not None]
    return reached
