"""Variants against the baseline with as many parameters as it: the conclusion from both ways of matching them.

The variants of the baseline's size are those of tiedlm/experiment/match: matched by the width of the body, and by its
depth. A conclusion is an intersection-union test (Berger 1982): it is drawn only where both lead to it, each at its own
level, so that the larger of the two p-values is that of the conclusion. Holm's correction of these is over the
variants. Free of torch.
"""

from collections.abc import Sequence
from typing import Any

from tiedlm.comparison.contrast import Difference, Verdict
from tiedlm.comparison.finished_runs import FinishedRuns
from tiedlm.comparison.judgement import PValues, holm_corrected, judge
from tiedlm.comparison.matched_bodies import MATCHED, MatchedVariant, Spending, in_order, matched_variants
from tiedlm.comparison.significance import LEVEL
from tiedlm.comparison.verdict import UNIT, over_seeds_in_common, p_value_in_words, signed_together
from tiedlm.config.base import Config
from tiedlm.experiment.sizes import INNER_WIDTH, TOLERANCE


class MatchedBody(Spending):
    """A variant of the baseline's size: what it came to, and its differences to the baseline, each judged by itself.

    The one on `split` decides.
    """

    variant: str
    split: str
    parameters: int
    percent_off: float
    flops_per_token: int
    num_layers: int | None
    inner_width: int | None
    differences: list[Difference]

    @property
    def difference(self) -> Difference:
        """That on the split that decides."""
        return next(difference for difference in self.differences if difference.split == self.split)


class AtEqualParameters(Config):
    """A variant against the baseline with as many parameters as it.

    `p_difference` and `p_equal` are those of the conclusion, corrected for `num_corrected_for` variants; null where one
    of the two bodies could not be tested. `statement` says it in words, without a full stop.
    """

    variant: str
    baseline: str
    split: str
    bodies: list[MatchedBody]
    p_difference: float | None = None
    p_equal: float | None = None
    num_corrected_for: int = 1
    verdict: Verdict = "cannot_tell"
    statement: str = ""


def compare_at_equal_parameters(finished: FinishedRuns, split: str) -> list[AtEqualParameters]:
    """Each variant whose body has finished at another size, in the order shown; `split` decides."""
    bodies: dict[str, list[MatchedBody]] = {}
    for matched in matched_variants(finished):
        judged = judge(finished.contrasts.get(matched.name, []), None, finished.smallest_worthwhile)
        if matched.of != finished.baseline and any(difference.split == split for difference in judged):
            bodies.setdefault(matched.of, []).append(_body(finished, matched, split, judged))
    compared = [
        AtEqualParameters(variant=of, baseline=finished.baseline, split=split, bodies=in_order(sizes))
        for of, sizes in bodies.items()
    ]
    return [
        each.model_copy(update={"statement": _statement(each, finished.smallest_worthwhile, finished.num_seeds)})
        for each in _decided(compared)
    ]


def _body(finished: FinishedRuns, matched: MatchedVariant, split: str, differences: list[Difference]) -> MatchedBody:
    run, total = finished.by_variant[matched.name][0], finished.baseline_runs[0].parameters.total
    model: dict[str, Any] = run.config["model"]
    return MatchedBody(
        variant=matched.name,
        spent_on=matched.spent_on,
        split=split,
        parameters=run.parameters.total,
        percent_off=100 * (run.parameters.total - total) / total,
        flops_per_token=run.parameters.flops_per_token,
        num_layers=model.get("num_layers"),
        inner_width=model.get(INNER_WIDTH.get(model.get("type", ""), "")),
        differences=differences,
    )


def _decided(compared: Sequence[AtEqualParameters]) -> list[AtEqualParameters]:
    """With p-values and verdicts, the p-values corrected within the family of those that could be tested."""
    corrected = holm_corrected({each.variant: _p_values(each) for each in compared})
    decided = [each.model_copy(update=corrected.get(each.variant, {})) for each in compared]
    return [each.model_copy(update={"verdict": _verdict(each)}) for each in decided]


def _p_values(each: AtEqualParameters) -> PValues:
    """Of "not equal, in one direction" and of "equal", each the larger one of both bodies; null where one lacks it."""
    differences = [body.difference for body in each.bodies]
    known = [(d.p_difference, d.p_equal) for d in differences if d.p_difference is not None and d.p_equal is not None]
    if len(known) < len(MATCHED) or _why_not(each):
        return None, None
    one_direction = len({(difference.mean or 0.0) < 0 for difference in differences}) == 1
    return (max(p for p, _ in known) if one_direction else 1.0), max(p for _, p in known)


def _verdict(each: AtEqualParameters) -> Verdict:
    verdicts = {body.difference.verdict for body in each.bodies}
    if len(verdicts) > 1 or _why_not(each):
        return "cannot_tell"
    (agreed,) = verdicts
    if each.p_difference is None or each.p_equal is None:
        return "no_difference" if agreed == "no_difference" else "cannot_tell"
    p_value = each.p_equal if agreed == "equal" else each.p_difference
    return agreed if p_value < LEVEL else "cannot_tell"


def _why_not(each: AtEqualParameters) -> str | None:
    """Why there is nothing to conclude from, if so."""
    missing = sorted(set(MATCHED.values()) - {body.spent_on for body in each.bodies})
    if missing:
        return f"no variant that is matched by {' or by '.join(missing)} has finished"
    for body in each.bodies:
        if abs(body.percent_off) > 100 * TOLERANCE:
            return f"{body.variant} has {body.parameters:,} parameters, {body.percent_off:+.1f} % off {each.baseline}"
        if body.difference.num_seeds == 0:
            return f"no seed has finished in both {body.variant} and {each.baseline}"
        if body.difference.mean is None:
            return f"{body.variant} and {each.baseline} did not score the same tokens"
        if body.difference.pairing.level == "none":
            return f"{body.variant} and {each.baseline} are not pairs ({'; '.join(body.difference.pairing.reasons)})"
    return None


def _statement(each: AtEqualParameters, size: float, num_seeds: int) -> str:
    pair = f"{each.variant} and {each.baseline}"
    reason = _why_not(each)
    unknown = f"cannot tell at equal parameters whether {each.variant} or {each.baseline} is better on {each.split}"
    if reason is not None:
        return f"{unknown}: {reason}"
    if each.verdict == "no_difference":
        return f"at equal parameters there is no difference between {pair}: equal to the last bit on {each.split}"
    confidence = "90 %" if each.verdict == "equal" else "95 %"
    both = " and ".join(_measured(body, confidence, num_seeds) for body in each.bodies)
    sure = f"{both}, {UNIT}{_corrected(each)}"
    match each.verdict:
        case "equal":
            return (
                f"at equal parameters {pair} are equal for practical purposes on {each.split}, within ±{size:g}: {sure}"
            )
        case "cannot_tell" if all(body.difference.num_seeds == 1 for body in each.bodies):
            return f"{unknown} from one seed, which has no spread: the difference is {sure}"
        case "cannot_tell":
            return f"{unknown}: the difference is {sure}{_disagreement(each)}"
    who = f"{each.variant} is {each.verdict} than {each.baseline}"
    return f"at equal parameters {who} on {each.split}: the difference is {sure}"


def _measured(body: MatchedBody, confidence: str, num_seeds: int) -> str:
    """ "-0.031 matched by width (95 % interval -0.040 to -0.022)"; of one seed without an interval."""
    difference = body.difference
    assert difference.mean is not None  # else there is a reason why not
    interval = difference.ci90_seeds if confidence == "90 %" else difference.ci95_seeds
    size, *ends = signed_together(difference.mean, interval)
    over = over_seeds_in_common(difference.num_seeds, num_seeds)
    how_sure = f" ({confidence} interval {ends[0]} to {ends[1]}{over})" if ends else over
    return f"{size} matched by {body.spent_on}{how_sure}"


def _disagreement(each: AtEqualParameters) -> str:
    """What each way of matching says by itself, where both say something and do not agree."""
    said = {body.spent_on: body.difference.verdict for body in each.bodies}
    if "cannot_tell" in said.values() or len({*said.values()}) == 1:
        return ""
    told = " and ".join(f"{verdict.replace('_', ' ')} by {spent_on}" for spent_on, verdict in said.items())
    return f"; {each.variant} is {told}, and only what both say is concluded"


def _corrected(each: AtEqualParameters) -> str:
    p_value = each.p_equal if each.verdict == "equal" else each.p_difference
    if each.num_corrected_for == 1 or p_value is None:
        return ""
    return f"; Holm-corrected for {each.num_corrected_for} variants, p {p_value_in_words(p_value)}"
