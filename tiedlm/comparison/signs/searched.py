"""Does the search of settings leave a doubt that is larger than the difference? Free of torch.

A search finds the best of what it tried. Three things speak against its choice: that the runs of an arm did not take
the best setting tried for it, that on both sides of the choice the next setting is worse by more than the difference
(a better one may lie between them), and that the choice is the smallest or the largest value tried.
"""

from collections.abc import Iterator
from typing import Any

from tiedlm.comparison.contrast import Difference
from tiedlm.comparison.finished_runs import FinishedRuns
from tiedlm.comparison.settings import flat_settings
from tiedlm.comparison.signs.sign import Sign, deciding_differences, difference_in_words, limit_of, size_in_words
from tiedlm.comparison.verdict import UNIT
from tiedlm.experiment.tuning import Axis, PointScore, TunedVariant


def searched_signs(finished: FinishedRuns) -> Iterator[Sign]:
    """Those of every arm that was tuned, each kind of sign at most once for an arm and a setting."""
    seen: set[tuple[str, str]] = set()
    for difference in deciding_differences(finished):
        for arm in (difference.variant, difference.baseline):
            for sign in _signs(finished, difference, arm):
                if (sign.kind, sign.subject) not in seen:
                    seen.add((sign.kind, sign.subject))
                    yield sign


def edge_signs(finished: FinishedRuns) -> Iterator[Sign]:
    """The choices at an edge of the grid."""
    tuning = finished.question.tuning
    for tuned in tuning.variants if tuning else ():
        for edge in tuned.edges if tuned.variant in finished.by_variant else ():
            where = f"{tuned.variant} ({edge.label} {edge.value:g}, the {edge.side})"
            yield Sign(
                kind="edge_of_grid",
                variant=tuned.variant,
                subject=where,
                value=None,
                limit=None,
                statement=f"the best may lie beyond what was tried: {where}",
            )


def _signs(finished: FinishedRuns, difference: Difference, arm: str) -> Iterator[Sign]:
    tuning = finished.question.tuning
    tuned = tuning.of(arm) if tuning else None
    if tuning is None or tuned is None:
        return
    limit = limit_of(difference, finished)
    used = _used(tuned, finished.by_variant[arm][0].config)
    if used is None:
        return
    best = min(tuned.trials, key=lambda point: point.loss)
    if used.loss - best.loss > limit and used.nats_per_token is not None:
        gap = used.loss - best.loss
        yield Sign(
            kind="better_setting_tried",
            variant=arm,
            subject=arm,
            value=gap,
            limit=limit,
            statement=(
                f"the runs of {arm} had {used.name}, and in the search {best.name} was better for it by "
                f"{size_in_words(gap)} {UNIT} of validation, more than {difference_in_words(difference)}"
            ),
        )
    for axis in tuning.axes:
        nearer = _nearer_neighbour(tuned, used, axis)
        if nearer is not None and nearer.loss - used.loss > limit:
            gap = nearer.loss - used.loss
            yield Sign(
                kind="coarse_grid",
                variant=arm,
                subject=f"{arm} ({axis.label})",
                value=gap,
                limit=limit,
                statement=(
                    f"the next {axis.label} tried for {arm} ({_number(used, axis)} to {_number(nearer, axis)}) costs "
                    f"{size_in_words(gap)} {UNIT} of validation, more than {difference_in_words(difference)}: a better "
                    f"one may lie between"
                ),
            )


def _used(tuned: TunedVariant, config: dict[str, Any]) -> PointScore | None:
    """The point of the search whose settings the runs had; None where no such point was tried."""
    flat = flat_settings(config)
    return next((point for point in tuned.trials if all(flat.get(k) == v for k, v in point.settings.items())), None)


def _nearer_neighbour(tuned: TunedVariant, used: PointScore, axis: Axis) -> PointScore | None:
    """Of the next smaller and the next larger value of a number, all else equal, the one with the lower loss.

    None where either of them was not tried or both diverged.
    """
    values = sorted(value for value in axis.values if isinstance(value, int | float) and not isinstance(value, bool))
    value = used.settings.get(axis.key)
    if len(values) < len(axis.values) or value not in values:
        return None
    place = values.index(value)
    if not 0 < place < len(values) - 1:
        return None
    wanted = [{**used.settings, axis.key: values[place + side]} for side in (-1, 1)]
    found = [point for point in tuned.trials if point.settings in wanted]
    nearer = min(found, key=lambda point: point.loss, default=None)
    return nearer if len(found) == len(wanted) and nearer is not None and nearer.nats_per_token is not None else None


def _number(point: PointScore, axis: Axis) -> str:
    return f"{point.settings[axis.key]:g}"
