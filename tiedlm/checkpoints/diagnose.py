"""`tiedlm.diagnose`: is this module tied, will it stay so, and does training treat it as one?"""

from typing import Any

from torch import nn

from tiedlm.checkpoints.diagnosis import Diagnosis, GradientPaths, Matrix, Relation
from tiedlm.checkpoints.embedding_modules import Found, Named, find_embeddings, unwrapped
from tiedlm.checkpoints.gradient_probe import probe_gradients
from tiedlm.checkpoints.memory_sharing import is_dtensor, relation, stored_twice, view_of
from tiedlm.checkpoints.module_findings import of_parameters, of_paths
from tiedlm.checkpoints.optimizer_use import optimizer_findings, uses_of
from tiedlm.errors import ConfigError, Problem


def diagnose(
    module: nn.Module,
    optimizer: Any = None,
    *,
    input: Named | None = None,
    output: Named | None = None,
    probe: bool = True,
) -> Diagnosis:
    """How the input and the output embedding of any `nn.Module` relate, and what could go wrong; `print` shows it.

    `input` and `output` name the two (a module, a parameter, or the dotted name of one) where the module does not tell.
    `probe` runs four tokens forward and back to count the gradient paths; nothing of the module changes. Raises
    ConfigError where it is not clear which matrices are meant.
    """
    if not isinstance(module, nn.Module):
        raise ConfigError(Problem("module", f"{type(module).__name__} is no nn.Module"))
    if optimizer is not None and not hasattr(optimizer, "param_groups"):
        raise ConfigError(Problem("optimizer", f"{type(optimizer).__name__} has no param_groups"))
    pair = find_embeddings(module, input, output)
    first, second = pair.input.weight, pair.output.weight if pair.output else None
    paths = probe_gradients(module, first, second) if probe else None
    how = _of_one(paths) if second is None else relation(first, second)
    flag = _flag(module)
    uses = None if optimizer is None else tuple(uses_of(optimizer, first, second))
    findings = [*of_parameters(pair, how, flag), *of_paths(pair, how, paths)]
    if optimizer is not None and uses is not None:
        matrices = [first] if second is None or second is first else [first, second]
        findings.extend(optimizer_findings(uses, optimizer, module, matrices, how == "same storage"))
    return Diagnosis(
        module=type(module).__name__,
        found_by=pair.how,
        input=_matrix(pair.input),
        output=_matrix(pair.output) if pair.output else None,
        relation=how,
        view=view_of(first, second) if second is not None and how == "same storage" else "",
        flag=flag,
        stored_twice=tuple(stored_twice(module)),
        gradient_paths=paths,
        optimizer=uses,
        is_meta=first.is_meta or (second is not None and second.is_meta),
        is_distributed=is_dtensor(first) or (second is not None and is_dtensor(second)),
        findings=tuple(findings),
    )


def _of_one(paths: GradientPaths | None) -> Relation:
    """Where no module makes the scores: the table does, if two paths lead back to it."""
    return "same parameter" if paths is not None and paths.input is not None and paths.input > 1 else "not known"


def _matrix(found: Found) -> Matrix:
    weight = found.weight
    dtype = str(weight.dtype).removeprefix("torch.")
    return Matrix(found.name, tuple(weight.shape), dtype, str(weight.device), weight.requires_grad, found.adapter)


def _flag(module: nn.Module) -> bool | None:
    for each in unwrapped(module):
        config: Any = getattr(each, "config", None)
        flag = config.get("tie_word_embeddings") if isinstance(config, dict) else None
        flag = getattr(config, "tie_word_embeddings", flag)
        if isinstance(flag, bool):
            return flag
    return None
