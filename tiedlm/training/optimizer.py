"""The optimizer, its parameter groups and its state."""

import inspect
from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import nn

from tiedlm.model.language_model import LanguageModel
from tiedlm.model.parameters import parameter_parts
from tiedlm.training.config import TrainingConfig
from tiedlm.training.machine import Machine

Group = dict[str, Any]
EMBEDDINGS = "embeddings"
"""The name of the group of the tying's matrices."""
OUTPUT_EMBEDDING = "output_embedding"
"""The name of the group of those that the output embedding alone has, where their rate is another."""
EMBEDDING_GROUPS = (EMBEDDINGS, OUTPUT_EMBEDDING)


def parameter_groups(model: LanguageModel, config: TrainingConfig) -> list[Group]:
    """Every parameter once: embeddings, other matrices, and vectors (norms and biases, which never decay).

    The embeddings are the matrices whose decay is `embedding_weight_decay`: the same rule for one matrix or two. Where
    they have betas or an epsilon of their own, their groups have them.
    """
    parts = parameter_parts(model)
    output_kind = EMBEDDINGS if config.output_learning_rate_factor is None else OUTPUT_EMBEDDING
    kind_of_part = {"input_embedding": EMBEDDINGS, "shared_embedding": EMBEDDINGS, "output_embedding": output_kind}
    kind_of = {id(parameter): kind for part, kind in kind_of_part.items() for parameter in parts[part]}
    kinds: dict[str, list[nn.Parameter]] = {EMBEDDINGS: [], OUTPUT_EMBEDDING: [], "matrices": [], "vectors": []}
    for parameter in model.parameters():
        kind = "vectors" if parameter.dim() == 1 else kind_of.get(id(parameter), "matrices")
        kinds[kind].append(parameter)
    decay = {"matrices": config.weight_decay, "vectors": 0.0}
    own = {"betas": config.embedding_betas, "eps": config.embedding_eps}
    own_values = {key: value for key, value in own.items() if value is not None}
    return [
        {
            "name": kind,
            "params": members,
            "weight_decay": decay.get(kind, config.embedding_weight_decay),
            **(own_values if kind in EMBEDDING_GROUPS else {}),
        }
        for kind, members in kinds.items()
        if members
    ]


def rate_factors(config: TrainingConfig, dim: int) -> dict[str, float]:
    """What the schedule's rate is multiplied by in the groups where that is not 1, in a model of width `dim`."""
    factors = {EMBEDDINGS: config.embedding_learning_rate_factor, OUTPUT_EMBEDDING: config.output_learning_rate_factor}
    return {
        group: dim**0.5 if factor == "sqrt_dim" else float(factor)
        for group, factor in factors.items()
        if factor is not None
    }


def build_optimizer(groups: list[Group], config: TrainingConfig, machine: Machine) -> torch.optim.Optimizer:
    """The optimizer of the config, fused where that is safe."""
    common = {"lr": config.learning_rate, "fused": is_fused(config, machine)}
    optimizer: torch.optim.Optimizer
    if config.optimizer == "sgd":
        optimizer = _SGD(groups, momentum=config.momentum or 0.0, **common)
    else:
        optimizer = _AdamW(groups, betas=config.betas, eps=config.eps, **common)
    return optimizer


def _without_compiler(kind: type[torch.optim.Optimizer]) -> Any:
    """`kind` without the wrappers that keep torch's compiler away from its methods.

    They import the compiler, which costs a run 1.3 s and 75 MB. No optimizer is compiled here.
    """
    names = ("add_param_group", "zero_grad", "state_dict", "load_state_dict")
    methods: dict[str, Any] = {name: inspect.unwrap(getattr(kind, name)) for name in names}
    methods["step"] = torch.no_grad()(inspect.unwrap(kind.step))
    return type(kind.__name__, (kind,), methods)


_AdamW, _SGD = _without_compiler(torch.optim.AdamW), _without_compiler(torch.optim.SGD)


def set_learning_rate(optimizer: torch.optim.Optimizer, rate: float, factors: Mapping[str, float]) -> None:
    """Set the learning rate of each group of `parameter_groups`, multiplied by its factor where it has one.

    Weight decay is multiplied by the rate, so the factor applies to it too; a factor of 0 freezes the embeddings.
    """
    for group in optimizer.param_groups:
        group["lr"] = rate * factors.get(group["name"], 1.0)


def is_fused(config: TrainingConfig, machine: Machine) -> bool:
    """Whether one kernel does the whole update.

    Not for SGD with a loss scaler: where the first step overflows, torch's fused SGD keeps a momentum buffer that was
    never written (`_fused_sgd` allocates it with `empty_like` and its kernel then skips the update).
    """
    return not (config.optimizer == "sgd" and machine.precision == "fp16")


@torch.no_grad()
def start_optimizer_state(optimizer: torch.optim.Optimizer, idle: Iterable[nn.Parameter] = ()) -> None:
    """Give every parameter that is not `idle` the state that torch would give it in its first step.

    Allocated before there are gradients: state that stays for the whole run, allocated among tensors that are freed
    after every step, would fragment the memory.
    """
    without = {id(parameter) for parameter in idle}
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if id(parameter) in without:
                continue
            state = optimizer.state[parameter]
            if isinstance(optimizer, torch.optim.SGD):
                if group["momentum"]:
                    state["momentum_buffer"] = torch.zeros_like(parameter)
                continue
            state["step"] = torch.zeros((), device=parameter.device if group["fused"] else None)
            state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(parameter), torch.zeros_like(parameter)


def copy_optimizer_state(optimizer: torch.optim.Optimizer, source: nn.Parameter, target: nn.Parameter) -> None:
    """Give `target` a copy of the optimizer state of `source`."""
    state = optimizer.state.get(source, {})
    optimizer.state[target] = {
        key: value.clone() if isinstance(value, torch.Tensor) else value for key, value in state.items()
    }
