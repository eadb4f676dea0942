"""The optimizer, its parameter groups and its state."""

import inspect
from collections.abc import Iterable
from typing import Any

import torch
from torch import nn

from tiedlm.training.config import TrainingConfig
from tiedlm.training.machine import Machine

Group = dict[str, Any]
EMBEDDINGS = "embeddings"
"""The name of the group of the tying's matrices."""


def parameter_groups(model: nn.Module, embeddings: list[nn.Parameter], config: TrainingConfig) -> list[Group]:
    """Every parameter once: embeddings, other matrices, and vectors (norms and biases, which never decay).

    `embeddings` are the matrices whose decay is `embedding_weight_decay`: the same rule for one matrix or two. Where
    they have an epsilon of their own, their group has it.
    """
    embedding_ids = {id(parameter) for parameter in embeddings}
    kinds: dict[str, list[nn.Parameter]] = {EMBEDDINGS: [], "matrices": [], "vectors": []}
    for parameter in model.parameters():
        if parameter.dim() == 1:
            kinds["vectors"].append(parameter)
        else:
            kinds[EMBEDDINGS if id(parameter) in embedding_ids else "matrices"].append(parameter)
    decay = {EMBEDDINGS: config.embedding_weight_decay, "matrices": config.weight_decay, "vectors": 0.0}
    own = {} if config.embedding_eps is None else {"eps": config.embedding_eps}
    return [
        {"name": kind, "params": found, "weight_decay": decay[kind], **(own if kind == EMBEDDINGS else {})}
        for kind, found in kinds.items()
        if found
    ]


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


def set_learning_rate(optimizer: torch.optim.Optimizer, rate: float, config: TrainingConfig) -> None:
    """Set the learning rate of each group of `parameter_groups`; that of the embeddings is multiplied by their factor.

    Weight decay is multiplied by the rate, so the factor applies to it too; a factor of 0 freezes the embeddings.
    """
    for group in optimizer.param_groups:
        group["lr"] = rate * (config.embedding_learning_rate_factor if group["name"] == EMBEDDINGS else 1.0)


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
