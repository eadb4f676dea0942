"""`tiedlm.diagnose`: is this module tied, will it stay so, and does training treat it as one?"""

from collections.abc import Iterator
from typing import Any

from torch import nn

from tiedlm.checkpoints.diagnosis import Diagnosis, GradientPaths, Matrix, Relation
from tiedlm.checkpoints.embedding_modules import Found, FoundPair, Named, find_embeddings, unwrapped
from tiedlm.checkpoints.findings import Finding
from tiedlm.checkpoints.gradient_probe import probe_gradients
from tiedlm.checkpoints.memory_sharing import is_dtensor, relation, stored_twice, view_of
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
    findings = [*_findings(pair, how, flag), *_findings_of_paths(pair, how, paths)]
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


def _findings(pair: FoundPair, how: Relation, flag: bool | None) -> Iterator[Finding]:
    """What config, parameters and wrappers say of each other."""
    adapters = {side: found.adapter for side, found in (("input", pair.input), ("output", pair.output)) if found}
    wrapped = {side: adapter for side, adapter in adapters.items() if adapter}
    if len(wrapped) == 1 and (flag or how in ("same parameter", "same storage")):
        ((side, adapter),) = wrapped.items()
        yield Finding(
            "adapter_on_one_side",
            f"What is trained by {adapter} changes the {side} embedding alone: the two are no longer one, and merging "
            "writes it into both or neither.",
            "Wrap both (ensure_weight_tying in PEFT), or untie first.",
        )
    elif flag and how in ("equal values", "different"):
        equal = "equal now, and a step parts them" if how == "equal values" else "different"
        way_out = "Call tie_weights() after loading or moving it, or set tie_word_embeddings to false."
        if wrapped:
            way_out = "Have PEFT wrap them as one (ensure_weight_tying)."
        message = f"The config says tied, and the two are separate parameters with values that are {equal}."
        yield Finding("tie_lost", message, way_out)
    if flag is None and how == "equal values":
        yield Finding(
            "equal_values",
            "The two are separate parameters with equal values: a tie was lost, or one is a copy of the other; a step "
            "parts them.",
            "Tie them again if they are to be one: head.weight = embedding.weight.",
        )
    if flag is False and how in ("same parameter", "same storage"):
        yield Finding(
            "tied_against_flag",
            "The config says untied, and the two are one memory: what is saved will have one matrix or two equal ones.",
            "Set tie_word_embeddings to true, or give the head a copy.",
        )
    if how == "same storage":
        yield Finding(
            "shared_storage",
            "Two parameters are laid over one memory: an optimizer takes them for two, and moving, casting or loading "
            "the module parts them.",
            "Tie the parameter, not the data: head.weight = embedding.weight.",
        )
    if how == "not known" and pair.output is not None:
        yield Finding(
            "meta", "The two are separate parameters on the meta device: values will be given to each of them.",
            "Tie them again after materializing.",
        )  # fmt: skip


def _findings_of_paths(pair: FoundPair, how: Relation, paths: GradientPaths | None) -> Iterator[Finding]:
    if paths is None or paths.problem:
        return
    trained = [found for found in (pair.input, pair.output) if found is not None and found.weight.requires_grad]
    if how == "same parameter" and trained:
        reached = paths.input if paths.arrived is None else paths.arrived
        if reached is not None and reached < 2:
            came = "along one path only: one of its two uses trains it" if reached else "along no path"
            message = f"The matrix is shared, but a gradient reaches it {came}."
            yield Finding("one_path", message, "Look for detach(), no_grad() or .data at the other use.")
        return
    counts = {"input": paths.input, "output": paths.output}
    for side, found in (("input", pair.input), ("output", pair.output)):
        if found is not None and found.weight.requires_grad and counts[side] == 0:
            yield Finding(
                "no_gradient", f"No gradient reaches the {side} embedding, though it is to be trained.",
                "Look for detach(), no_grad() or another matrix used in its place.",
            )  # fmt: skip
