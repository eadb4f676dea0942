"""Searches of settings held against each other at equal cost: called by `bench_tuning`.

Every search spends as much as `--runs` whole runs on each variant, over the same space. A line is what a search had
found after so much: the lowest validation loss, in nats per token, of the runs that came to their end until then.
Halving ends its first runs late: before that it has none. Runs are carried out in this process, one after another.
"""
# ruff: noqa: T201 (its output is what it prints)

import argparse
import contextlib
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from timing import machine_in_words

from tiedlm.config.merge import merge
from tiedlm.data.cache_dir import default_cache_dir
from tiedlm.errors import RunError
from tiedlm.evaluation.measures import nats_per_token
from tiedlm.experiment.config import Experiment
from tiedlm.experiment.halving import Halving
from tiedlm.experiment.plan_tuning import candidate_of, plan_tuning, trial, with_candidate
from tiedlm.experiment.reading import load_experiment, read_source
from tiedlm.experiment.search import Search
from tiedlm.experiment.series import Portion
from tiedlm.experiment.tpe import propose
from tiedlm.experiment.tune_halving import Tournament
from tiedlm.run.execute import execute, execute_to
from tiedlm.run.folder import RunFolder
from tiedlm.run.layout import Run
from tiedlm.training.machine import resolve_machine

METHODS = ("grid", "random", "halving", "tpe")
SPACE: dict[str, Any] = {
    "training.learning_rate": {"low": 5e-4, "high": 8e-3, "log": True},
    "training.embedding_learning_rate_factor": {"low": 1, "high": 64, "log": True},
    "model.tying.input_scale": [1.0, "sqrt_dim"],
}
SEED = 100


@dataclass
class Spent:
    """What a search has spent on a variant, in whole runs, and the lowest loss after each run that came to its end."""

    runs: float = 0.0
    found: list[tuple[float, float]] = field(default_factory=list)
    num_diverged: int = 0

    def best_after(self, runs: float) -> float | None:
        """The lowest loss when so much was spent."""
        return min((loss for spent, loss in self.found if spent <= runs + 1e-6), default=None)


@dataclass(frozen=True)
class Bench:
    """The runs of all searches, and where they lie."""

    steps: int
    vocab_size: int
    runs: int
    seed: int
    folder: Path

    def experiment(self, method: str) -> Experiment:
        """The search of a method, which costs at most so many runs."""
        tune: dict[str, Any] = {"method": method, "seeds": [SEED]}
        if method == "grid":
            tune["grid"] = grid_of(self.runs)
        else:
            num = largest_halving(self.runs) if method == "halving" else self.runs
            tune |= {"space": SPACE, "trials": num, "seed": self.seed}
        base = read_source("tuned")  # with its own search replaced
        changes = {
            "name": method,
            "data": {"tokenizer": {"type": "bpe", "vocab_size": self.vocab_size}},
            "training": {"steps": self.steps, "evaluate_every": None},
        }
        return load_experiment({**merge(base, changes), "tune": tune})

    def carry_out(self, portion: Portion, spent: Spent) -> None:
        """Train a portion of a trial, and note what it came to."""
        spent.runs += portion.size
        try:
            if portion.until < 1:
                execute_to(portion.run, portion.until, cache_dir=default_cache_dir())
                return
            execute(portion.run, cache_dir=default_cache_dir())
        except RunError as error:
            if error.kind != "diverged":
                raise
            spent.num_diverged += 1
            return
        spent.found.append((spent.runs, loss_of(portion.run)))

    def search(self, method: str) -> dict[str, Spent]:
        """What a method finds for each variant."""
        search = self.experiment(method).search
        assert search is not None
        spent = {variant: Spent() for variant in search.candidates}
        if search.halving is not None:
            for lacking in Tournament(search, self.folder).lacking():
                variant = lacking.portion.run.config.tuning_of
                assert variant is not None
                self.carry_out(lacking.portion, spent[variant])
            return spent
        for number in range(search.num_candidates):
            for variant in search.candidates:
                if search.adaptive is not None and number >= search.adaptive.num_drawn:
                    search = self.with_proposal(search, variant, number)
                self.carry_out(
                    Portion(trial(search.candidates[variant][number], variant, SEED, self.folder)), spent[variant]
                )
        return spent

    def with_proposal(self, search: Search, variant: str, number: int) -> Search:
        """With the candidate that TPE proposes after those before it."""
        before = search.candidates[variant][:number]
        losses = [loss_of(trial(candidate, variant, SEED, self.folder)) for candidate in before]
        point = propose(search.space(variant), [dict(one.settings) for one in before], losses, self.seed)
        return with_candidate(search, variant, number, candidate_of(search, variant, number, point))


def loss_of(run: Run) -> float:
    """The nats per token of validation; infinite where it diverged."""
    result = RunFolder(run.directory).result()
    nats = (
        None if result is None else nats_per_token(result.splits["validation"].nll, result.splits["validation"].tokens)
    )
    return float("inf") if nats is None else nats


def grid_of(runs: int) -> dict[str, list[Any]]:
    """At most so many points: both scales, and the two rates as evenly as they come out."""
    per_scale = max(runs // 2, 1)
    rates = max(number for number in range(1, per_scale + 1) if number * number <= per_scale)
    factors = per_scale // rates
    keys = list(SPACE)
    return {keys[0]: spread(SPACE[keys[0]], rates), keys[1]: spread(SPACE[keys[1]], factors), keys[2]: SPACE[keys[2]]}


def spread(ends: dict[str, float], number: int) -> list[float]:
    """The middles of so many equal parts of a range, on its logarithm."""
    times = ends["high"] / ends["low"]
    return [float(f"{ends['low'] * times ** ((place + 0.5) / number):.4g}") for place in range(number)]


def largest_halving(runs: int) -> int:
    """The most candidates that successive halving with its defaults can try for so many runs."""
    halving = Halving(reduction=3, min_fraction=0.2)
    return max(number for number in range(1, 10 * runs) if halving.whole_runs(number) <= runs + 1e-6)


def table(found: dict[str, dict[str, Spent]], runs: int) -> Iterator[str]:
    """The lines: variant and method, then the best after parts of the budget."""
    marks = sorted({max(runs * part // 4, 1) for part in (1, 2, 3, 4)})
    yield f"{'':<8}{'':<9}{'settings':>9}{'spent':>7}" + "".join(f"{f'after {mark}':>11}" for mark in marks)
    for variant in next(iter(found.values())):
        for method, by_variant in found.items():
            spent = by_variant[variant]
            cells = [spent.best_after(mark) for mark in marks]
            shown = "".join(f"{'–' if cell is None else f'{cell:.4f}':>11}" for cell in cells)
            tried = {"halving": largest_halving(runs)}.get(method, len(spent.found) + spent.num_diverged)
            yield f"{variant:<8}{method:<9}{tried:>9}{spent.runs:>7.1f}{shown}"


def main(arguments: list[str] | None = None) -> None:
    """Search with each method and print what it found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=12, help="of each search and variant (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=150, help="of a run (default: %(default)s)")
    parser.add_argument("--vocab-size", type=int, default=320, help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=0, help="of the draws and proposals (default: %(default)s)")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--quick", action="store_true", help="a few steps of a few runs, to see that it works")
    asked = parser.parse_args(arguments)
    runs, steps = (3, 10) if asked.quick else (asked.runs, asked.steps)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        bench = Bench(steps, asked.vocab_size, runs, asked.seed, folder)
        config = plan_tuning(bench.experiment("random"), folder)[0].config
        print(
            f"{machine_in_words(resolve_machine(config.training).device)}; quickstart at V={asked.vocab_size:,}, "
            f"{steps} steps a run; nats per token of validation"
        )
        found: dict[str, dict[str, Spent]] = {}
        for method in asked.methods:
            began = time.monotonic()
            found[method] = bench.search(method)
            print(f"{method}: {time.monotonic() - began:.0f} s, {torch.get_num_threads()} threads", flush=True)
    print()
    for line in table(found, runs):
        print(line)


if __name__ == "__main__":
    main()
