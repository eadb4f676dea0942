"""What is wrong with how a module ties its two matrices, a sentence each, and the way out."""

from collections.abc import Iterator

from tiedlm.checkpoints.diagnosis import GradientPaths, Relation
from tiedlm.checkpoints.embedding_modules import FoundPair
from tiedlm.checkpoints.findings import Finding

_ONE = ("same parameter", "same storage")
_TIE = "Tie the parameter, not the data: head.weight = embedding.weight."


def of_parameters(pair: FoundPair, how: Relation, flag: bool | None) -> Iterator[Finding]:
    """What config, parameters and wrappers say of each other."""
    found = {"input": pair.input, "output": pair.output}
    wrapped = {side: each.adapter for side, each in found.items() if each is not None and each.adapter}
    if len(wrapped) == 1 and (flag or how in _ONE):
        yield _on_one_side(wrapped)
    elif how in ("equal values", "different"):
        yield from _of_two(how, flag, is_wrapped=bool(wrapped))
    if flag is False and how in _ONE:
        yield Finding(
            "tied_against_flag",
            "The config says untied, and the two are one memory: what is saved will have one matrix or two equal ones.",
            "Set tie_word_embeddings to true, or give the head a copy.",
        )
    if how == "same storage":
        message = (
            "Two parameters are laid over one memory: an optimizer takes them for two, and moving, casting or loading "
            "the module parts them."
        )
        yield Finding("shared_storage", message, _TIE)
    if how == "not known" and pair.output is not None:
        message = "The two are separate parameters on the meta device: values will be given to each of them."
        yield Finding("meta", message, "Tie them again after materializing.")


def _on_one_side(wrapped: dict[str, str]) -> Finding:
    ((side, adapter),) = wrapped.items()
    return Finding(
        "adapter_on_one_side",
        f"What is trained by {adapter} changes the {side} embedding alone: the two are no longer one, and merging "
        "writes it into both or neither.",
        "Wrap both (ensure_weight_tying in PEFT), or untie first.",
    )


def _of_two(how: Relation, flag: bool | None, *, is_wrapped: bool) -> Iterator[Finding]:
    """Of two parameters: what the config says against it, or their values where there is none."""
    if flag:
        equal = "equal now, and a step parts them" if how == "equal values" else "different"
        way_out = "Call tie_weights() after loading or moving it, or set tie_word_embeddings to false."
        if is_wrapped:
            way_out = "Have PEFT wrap them as one (ensure_weight_tying)."
        message = f"The config says tied, and the two are separate parameters with values that are {equal}."
        yield Finding("tie_lost", message, way_out)
    elif flag is None and how == "equal values":
        yield Finding(
            "equal_values",
            "The two are separate parameters with equal values: a tie was lost, or one is a copy of the other; a step "
            "parts them.",
            "Tie them again if they are to be one: head.weight = embedding.weight.",
        )


def of_paths(pair: FoundPair, how: Relation, paths: GradientPaths | None) -> Iterator[Finding]:
    """What the probe shows: a use that trains nothing, or a matrix that no gradient reaches."""
    if paths is None or paths.problem:
        return
    trained = {
        side: found
        for side, found in (("input", pair.input), ("output", pair.output))
        if found is not None and found.weight.requires_grad
    }
    if how == "same parameter":
        reached = paths.input if paths.arrived is None else paths.arrived
        if trained and reached is not None and reached < 2:
            came = "along one path only: one of its two uses trains it" if reached else "along no path"
            message = f"The matrix is shared, but a gradient reaches it {came}."
            yield Finding("one_path", message, "Look for detach(), no_grad() or .data at the other use.")
        return
    counts = {"input": paths.input, "output": paths.output}
    for side in trained:
        if counts[side] == 0:
            message = f"No gradient reaches the {side} embedding, though it is to be trained."
            yield Finding("no_gradient", message, "Look for detach(), no_grad() or another matrix in its place.")
