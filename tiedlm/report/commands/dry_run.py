"""What `--dry-run` prints: the planned runs with their steps, tokens, memory and disk."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console

from tiedlm.report.figures import numbers
from tiedlm.report.figures.table import Row, Table
from tiedlm.report.formats.terminal_writer import TerminalWriter

_BASES = {
    "same_shape": "as finished runs of this shape took here",
    "other_shape": "from the speed of other runs here, by FLOPs",
    "guess": "a guess from a matrix product (within a factor of 3)",
}


def render_dry_run(
    runs: Sequence[Mapping[str, Any]],
    totals: Mapping[str, Any],
    console: Console,
    tuning: Mapping[str, Any] | None = None,
) -> None:
    """Print the runs of a plan and what they will take; `runs`, `totals`, `tuning` as in the JSON of `--dry-run`."""
    writer = TerminalWriter(console)
    trials = [run for run in runs if run["trial_of"] is not None]
    if trials:
        writer.table(_trial_table(trials))
        writer.blank_line()
    _render_runs([run for run in runs if run["trial_of"] is None], writer)
    writer.paragraph(_how_many(totals["runs"], totals["to_do"]))
    writer.paragraphs(_totals_in_words(totals))
    writer.paragraphs(_about_trials(trials, runs, tuning))
    writer.paragraphs(_about_judging(trials, runs))
    writer.paragraph(
        f"Memory is the peak of a training step as predicted{_where(runs)}, without what kernels take for themselves. "
        "Disk is that of the checkpoints."
    )
    if any(run["steps"] is None or run["parameters"] is None for run in runs):
        writer.paragraph("What is not known yet hangs on the text: `tiedlm prepare` gets it ready.")
    if any(run["parameters"] is not None and not run["vocab_size_is_known"] for run in runs):
        writer.paragraph(
            "Parameters, memory and disk are those of the vocabulary asked for; where the text gives fewer types they "
            "are less, as `tiedlm prepare` will tell."
        )


def _how_many(runs: int, to_do: int) -> str:
    if runs == 1:
        return "One run, not finished." if to_do else "One run, finished."
    return f"{runs} runs, {to_do} of them not finished."


def _totals_in_words(totals: Mapping[str, Any]) -> Iterator[str]:
    """What is left to do in time, memory and disk: a line each."""
    if totals["to_do"]:
        yield f"Time: {_time_in_words(totals['seconds'], totals['seconds_basis'])}."
        if totals["predicted_peak_bytes"] is not None:
            yield f"Memory: at most {_size(totals['predicted_peak_bytes'])}, one run at a time."
    if totals["disk_bytes"] is not None:
        peak = _size(totals["disk_peak_bytes"])
        yield f"Disk: {_size(totals['disk_bytes'])} of checkpoints at the end, {peak} at most."


def _time_in_words(seconds: float | None, basis: str | None) -> str:
    if seconds is None or basis is None:
        return "not known before a run of its kind has finished here"
    return f"about {_duration(seconds)}, {_BASES[basis]}"


def _duration(seconds: float) -> str:
    """ "40 s", "12 min", "3.5 h", "4.2 days"."""
    for size, unit, decimals in ((86_400, "days", 1), (3_600, "h", 1), (60, "min", 0)):
        if seconds >= 1.5 * size:
            return f"{seconds / size:,.{decimals}f} {unit}"
    return f"{seconds:.0f} s"


def _size(num_bytes: int) -> str:
    """GiB from one on, else MiB."""
    return f"{num_bytes / 2**30:,.1f} GiB" if num_bytes >= 2**30 else numbers.memory(num_bytes)


def _render_runs(runs: Sequence[Mapping[str, Any]], writer: TerminalWriter) -> None:
    rows = (
        Row.of("state", (run["state"] for run in runs)),
        Row.of("steps", (numbers.count(run["steps"]) for run in runs)),
        Row.of("tokens", (numbers.count(run["tokens"]) for run in runs)),
        Row.of("parameters", (numbers.count(run["parameters"]) for run in runs)),
        Row.of("memory", (numbers.memory(run["predicted_peak_bytes"], numbers.NOTHING) for run in runs)),
        Row.of("disk", (numbers.memory(run["disk_bytes"]) for run in runs)),
    )
    writer.table(Table(tuple(run["label"] for run in runs), rows, names_as="lines"))
    writer.blank_line()
    sizes = _size_table(runs)
    if sizes is not None:
        writer.table(sizes)
        writer.blank_line()


def _trial_table(trials: Sequence[Mapping[str, Any]]) -> Table:
    """A line for each point of the grid and seed, a column for each variant."""
    states = {(run["variant"], run["seed"], run["trial_of"]): run["state"] for run in trials}
    points = list(dict.fromkeys((run["variant"], run["seed"]) for run in trials))
    rows = [
        Row.of(variant, (states[(*point, variant)] for point in points))
        for variant in dict.fromkeys(run["trial_of"] for run in trials)
    ]
    names = tuple(f"{settings}, seed {seed}" for settings, seed in points)
    return Table(names, tuple(rows), names_as="lines", title="Trials")


def _about_trials(
    trials: Sequence[Mapping[str, Any]], runs: Sequence[Mapping[str, Any]], tuning: Mapping[str, Any] | None
) -> Iterator[str]:
    if not trials or tuning is None:
        return
    size = " of unknown length"
    if tuning["tokens"] is not None:
        share = "" if tuning["share"] is None else f", {100 * tuning['share']:.0f} % of the plan"
        size = f" of {numbers.count(tuning['steps'])} steps and {numbers.count(tuning['tokens'])} tokens in all{share}"
    factors = [(tuning[what], what.removesuffix("s")) for what in ("settings", "variants", "seeds")]
    product = " x ".join(f"{number} {what}{'s' if number > 1 else ''}" for number, what in factors)
    which = "One of them is a trial" if len(trials) == 1 else f"{len(trials)} of them are trials"
    yield f"{which} ({product}){size}; {'its' if len(trials) == 1 else 'their'} weights are not kept."
    if tuning["entrants"]:
        yield f"{_rungs_in_words(tuning)} That is as much as {tuning['whole_runs']:.3g} whole runs."
    if tuning["method"] == "tpe":
        yield "All but the first settings hang on what others come to; until then drawn ones stand for them."
    if any(run["state"] == "waits" for run in runs):
        yield "The others wait for the settings that these choose, and are shown with the first of them."


def _about_judging(trials: Sequence[Mapping[str, Any]], runs: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Runs that wait although nothing is tuned wait for a recipe."""
    waiting = [run for run in runs if run["state"] == "waits"]
    if waiting and not trials:
        yield (
            f"{len(waiting)} of them judge the best recipe of each variant, which the others choose; they are shown "
            "with the first recipe."
        )


def _rungs_in_words(tuning: Mapping[str, Any]) -> str:
    """ "Of the 27 settings of a variant 9 go on after 20 % of a run, 3 after 60 %." """
    going_on = zip(tuning["entrants"][1:], tuning["shares"], strict=False)
    parts = [f"{num} go on after {100 * share:.3g} %" for num, share in going_on]
    return f"Of the {tuning['settings']} settings of a variant {', '.join(parts)} of a run."


def _size_table(runs: Sequence[Mapping[str, Any]]) -> Table | None:
    """What a token costs in each variant, where that is not the same in all."""
    first = {run["variant"]: run for run in reversed(runs)}
    variants = [first[name] for name in dict.fromkeys(run["variant"] for run in runs)]
    if len({run["flops_per_token"] for run in variants}) == 1:
        return None
    rows = (
        Row.of("parameters", (numbers.count(run["parameters"]) for run in variants)),
        Row.of("FLOPs per token", (numbers.count(run["flops_per_token"]) for run in variants)),
        Row.of("layers", (numbers.count(run["num_layers"]) for run in variants)),
        Row.of("inner width", (numbers.count(run["inner_width"]) for run in variants)),
    )
    return Table(tuple(run["variant"] for run in variants), rows, names_as="lines", title="Variants of unequal cost")


def _where(runs: Sequence[Mapping[str, Any]]) -> str:
    """ " for cuda, bf16, micro-batches of 64"."""
    found = [run["predicted"] for run in runs if run["predicted"]]
    places = dict.fromkeys(f"{f['device']}, {f['precision']}, micro-batches of {f['micro_batch_size']}" for f in found)
    return f" for {' / '.join(places)}" if places else ""
