"""How an optimizer holds the two matrices: in which groups, how often, with which rate and decay."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from torch import Tensor, nn

from tiedlm.checkpoints.diagnosis import OptimizerUse
from tiedlm.checkpoints.findings import Finding


def uses_of(optimizer: Any, first: Tensor, second: Tensor | None) -> list[OptimizerUse]:
    """Every group that holds one of the two."""
    is_one = second is first or second is None
    sides: list[tuple[Literal["input", "output", "both"], Tensor]] = (
        [("both" if second is first else "input", first)] if is_one else [("input", first)]
    )
    if second is not None and not is_one:
        sides.append(("output", second))
    found = []
    for number, group in enumerate(optimizer.param_groups):
        for side, matrix in sides:
            times = sum(each is matrix for each in group["params"])
            if times:
                found.append(OptimizerUse(number, side, times, _number(group, "lr"), _number(group, "weight_decay")))
    return found


def _number(group: Any, key: str) -> float | None:
    value = group.get(key)
    return None if value is None else float(value)


def optimizer_findings(
    uses: Sequence[OptimizerUse], optimizer: Any, module: nn.Module, matrices: Sequence[Tensor], shares_memory: bool
) -> Iterator[Finding]:
    """What is wrong with how an optimizer holds them."""
    names = {"input": "input embedding", "output": "output embedding", "both": "shared matrix"}
    held = {use.side for use in uses}
    wanted = {"both"} if len(matrices) == 1 and "both" in held else {"input", "output"} if len(matrices) == 2 else set()
    trained = [each for each in matrices if each.requires_grad]
    strangers = [*_strangers(optimizer, module, matrices)]
    if strangers:
        yield Finding(
            "optimizer_stale",
            f"The optimizer holds {len(strangers)} matrix of this size that the module does not have: it was made "
            "before the module was tied, loaded or moved, and trains what nobody uses.",
            "Make the optimizer after that.",
        )
    if trained and not held:
        yield Finding(
            "optimizer_missing", "The optimizer holds neither matrix, though they are trained.", "Give it both."
        )
    elif len(trained) == 2 and (missing := wanted - held):
        which = names[missing.pop()]
        yield Finding(
            "optimizer_missing", f"The optimizer does not hold the {which}: it stays as it is.", "Give it that."
        )
    if any(use.times > 1 for use in uses):
        yield Finding(
            "optimizer_twice", "A group of the optimizer holds a matrix more than once: it is updated as often.",
            "Give each parameter once.",
        )  # fmt: skip
    if shares_memory and len(held) == 2:
        yield Finding(
            "optimizer_twice",
            "The two parameters are one memory, and the optimizer holds both: each step updates it twice, with two "
            "moments, each from one half of the gradient.",
            "Tie the parameter, not the data: head.weight = embedding.weight.",
        )
    recipes = {(use.learning_rate, use.weight_decay) for use in uses}
    if len(recipes) > 1 and (shares_memory or "both" in held):
        said = "; ".join(f"rate {rate}, decay {decay}" for rate, decay in sorted(recipes, key=str))
        yield Finding("optimizer_recipes", f"One matrix is trained under two recipes: {said}.", "Keep it in one group.")


def _strangers(optimizer: Any, module: nn.Module, matrices: Sequence[Tensor]) -> Iterator[Tensor]:
    """Parameters of the optimizer that have the shape of a matrix and are not the module's."""
    own = {id(each) for each in module.parameters()}
    shapes = {each.shape for each in matrices}
    for group in optimizer.param_groups:
        yield from (each for each in group["params"] if id(each) not in own and each.shape in shapes)
