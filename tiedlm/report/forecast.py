"""A plan on the terminal, before it is carried out."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from tiedlm.report import numbers
from tiedlm.report.page import Page
from tiedlm.report.records import Records, Row


def render_forecast(runs: Sequence[Mapping[str, Any]], console: Console) -> None:
    """Print what a plan will take; `runs` as in the JSON of `--dry-run`."""
    page = Page(console)
    rows = (
        Row.of("state", (run["state"] for run in runs)),
        Row.of("steps", (numbers.count(run["steps"]) for run in runs)),
        Row.of("tokens", (numbers.count(run["tokens"]) for run in runs)),
        Row.of("parameters", (numbers.count(run["parameters"]) for run in runs)),
        Row.of("memory", (_memory(run["predicted_peak_bytes"]) for run in runs)),
        Row.of("disk", (numbers.memory(run["disk_bytes"]) for run in runs)),
    )
    names = tuple(f"{run['variant']} seed {run['seed']}" for run in runs)
    page.records(Records(names, rows, across="lines"))
    page.blank()
    sizes = _size_records(runs)
    if sizes is not None:
        page.records(sizes)
        page.blank()
    to_do = [run for run in runs if run["state"] != "finished"]
    page.prose(f"{len(runs)} runs, {len(to_do)} of them not finished.")
    page.prose(
        f"Memory is the peak of a training step as predicted{_where(runs)}, without what kernels take for themselves. "
        "Disk is that of the checkpoints."
    )
    if any(run["steps"] is None or run["parameters"] is None for run in runs):
        page.prose("What is not known yet hangs on the text: `tiedlm prepare` gets it ready.")


def _size_records(runs: Sequence[Mapping[str, Any]]) -> Records | None:
    """What a token costs in each variant, where that is not the same in all."""
    first = {run["variant"]: run for run in reversed(runs)}
    variants = [first[name] for name in dict.fromkeys(run["variant"] for run in runs)]
    if len({run["flops_per_token"] for run in variants}) == 1:
        return None
    rows = (
        Row.of("parameters", (numbers.count(run["parameters"]) for run in variants)),
        Row.of("FLOPs per token", (numbers.count(run["flops_per_token"]) for run in variants)),
        Row.of("layers", (numbers.count(run["num_layers"]) for run in variants)),
        Row.of("feed-forward", (numbers.count(run["feed_forward_dim"]) for run in variants)),
    )
    return Records(tuple(run["variant"] for run in variants), rows, across="lines", title="Variants of unequal cost")


def _memory(num_bytes: int | None) -> str:
    return numbers.NOTHING if num_bytes is None else numbers.memory(num_bytes)


def _where(runs: Sequence[Mapping[str, Any]]) -> str:
    """ " for cuda, bf16, micro-batches of 64"."""
    found = [run["predicted"] for run in runs if run["predicted"]]
    places = dict.fromkeys(f"{f['device']}, {f['precision']}, micro-batches of {f['micro_batch_size']}" for f in found)
    return f" for {' / '.join(places)}" if places else ""
