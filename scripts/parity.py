"""Does bf16 train to the same place as fp32, and is what tying does the same in both? Called by `parity`.

Tied and untied in either precision are four variants of one experiment, which is carried out as any other: the same
start and the same batches for all four of a seed. Printed is the nll a token on the test split, scored in fp32; paired
differences with Student's 95 % interval over the seeds; and the difference of the differences, which is how much more
bf16 costs the tied arm than the untied one. An interval over so few seeds is wide.

--control trains in fp32 once more, in two micro-batches a step: the same but for the order of sums. What that changes
is what any change of rounding changes, and what bf16 changes is to be held against it.
"""
# ruff: noqa: T201 (its output is what it prints)

import argparse
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tiedlm.comparison.compare import compare
from tiedlm.comparison.statistics import PairedDifference, mean, paired_difference, sample_sd
from tiedlm.config.base import parse
from tiedlm.config.file import apply_settings, read_config
from tiedlm.config.find import find_config
from tiedlm.config.yaml_core import dump_yaml
from tiedlm.data.cache_dir import default_cache_dir
from tiedlm.data.config import DataConfig
from tiedlm.errors import ConfigError, RunError
from tiedlm.experiment.config import Experiment, ExperimentKeys
from tiedlm.experiment.plan import plan
from tiedlm.experiment.reading import load_experiment
from tiedlm.files import write_atomic
from tiedlm.paths import user_path
from tiedlm.run.folder import RunFolder
from tiedlm.run.result import RunResult
from tiedlm.talk import Talk

TYINGS, PRECISIONS, CONTROL = ("tied", "untied"), ("fp32", "bf16"), "fp32-halves"
Key = tuple[str, str]
Runs = Mapping[Key, Sequence[RunResult]]
"""By tying and precision (or CONTROL): a run for each seed, all in the same order of seeds."""


def variant_of(tying: str, arithmetic: str) -> str:
    """The name of one of them."""
    return f"{tying}-{arithmetic}"


def write_experiment(
    base: str, path: Path, num_seeds: int, settings: Sequence[str], *, control: bool = False
) -> Experiment:
    """The experiment in a config file with these for its variants, written to `path`. Raises ConfigError."""
    given = apply_settings(read_config(find_config(base)), list(settings))
    raw = {key: value for key, value in given.items() if key not in ("seed", "variant", *ExperimentKeys.model_fields)}
    if "data" in raw:  # its paths are taken from where they were written, not from the new file
        raw["data"] = parse(DataConfig, raw["data"], base, "data").model_dump(mode="json")
    recipes: dict[str, dict[str, object]] = {precision: {"precision": precision} for precision in PRECISIONS}
    if control:
        recipes[CONTROL] = {"precision": "fp32", "micro_batch_size": max(1, raw["training"]["batch_size"] // 2)}
    variants = {
        variant_of(tying, arithmetic): {"model": {"tying": {"type": tying}}, "training": dict(recipe)}
        for tying in TYINGS
        for arithmetic, recipe in recipes.items()
    }
    own = {"name": "parity", "seeds": list(range(num_seeds)), "baseline": "untied-fp32", "variants": variants}
    write_atomic(path, dump_yaml({**raw, **own}))
    return load_experiment(path)


def finished_runs(experiment: Experiment, runs_dir: Path) -> Runs:
    """The results of every run; raises RunError where one is lacking, or where those of a seed are no pairs."""
    keys = [(tying, arithmetic) for tying in TYINGS for arithmetic in (*PRECISIONS, CONTROL)]
    names = {variant_of(*key): key for key in keys if variant_of(*key) in experiment.variants}
    found: dict[Key, list[RunResult]] = {key: [] for key in names.values()}
    for run in plan(experiment, runs_dir):
        result = RunFolder(run.directory).result()
        if result is None:
            raise RunError("error", f"{run.label} has no result: {run.directory}")
        key = names[run.config.variant]
        if result.effective.precision != run.config.training.precision:
            raise RunError("error", f"{run.label} was carried out in {result.effective.precision}")
        found[key].append(result)
    for results in zip(*found.values(), strict=True):
        if len({(result.hashes.body, result.hashes.batches, result.hashes.input_embedding) for result in results}) > 1:
            raise RunError("error", f"seed {results[0].seed}: start and batches were not the same for all")
    return found


def lines(runs: Runs) -> Iterator[str]:
    """The table, and what its differences come to."""
    nats = {key: [nats_per_token(run) for run in own] for key, own in runs.items()}
    seeds = [run.seed for run in next(iter(runs.values()))]
    cost = {tying: paired_difference(nats[tying, "bf16"], nats[tying, "fp32"]) for tying in TYINGS}
    tied = {name: paired_difference(nats["tied", name], nats["untied", name]) for name in PRECISIONS}
    apart = paired_difference(cost["tied"].differences, cost["untied"].differences)
    yield f"{'nll a token, test':<24}{'fp32':>12}{'bf16':>12}{'bf16 - fp32':>14}"
    for tying in TYINGS:
        columns = [nats[tying, name] for name in PRECISIONS]
        yield from block(tying, seeds, columns, cost[tying])
    yield from block("tied - untied", seeds, [tied[name].differences for name in PRECISIONS], apart, "+")
    yield ""
    for tying in TYINGS:
        yield f"bf16 - fp32, {tying}: {in_words(cost[tying])}"
    for tying in TYINGS:
        if (tying, CONTROL) in nats:
            again = paired_difference(nats[tying, CONTROL], nats[tying, "fp32"])
            yield f"fp32 in two micro-batches - fp32, {tying}: {in_words(again)}"
    for name in PRECISIONS:
        yield f"tied - untied in {name}: {in_words(tied[name])}"
    yield f"difference of the differences: {in_words(apart)}"
    if apart.interval is not None:
        low, high = apart.interval
        what = "holds 0: that bf16 costs one arm more than the other was not seen"
        if low > 0 or high < 0:
            what = f"leaves 0 out: bf16 costs the {'tied' if low > 0 else 'untied'} arm more"
        yield f"its interval {what}"


def block(
    name: str, seeds: Sequence[int], columns: Sequence[Sequence[float]], difference: PairedDifference, sign: str = ""
) -> Iterator[str]:
    """A row for each seed, their mean, and how far they lie apart."""
    rows = [(f"seed {seed}", values) for seed, values in zip(seeds, zip(*columns, strict=True), strict=True)]
    for number, ((label, values), last) in enumerate(zip(rows, difference.differences, strict=True)):
        yield row(name if number == 0 else "", label, (*values, last), sign)
    yield row("", "mean", (*(mean(column) for column in columns), difference.mean), sign)
    spreads = [sample_sd(column) for column in (*columns, difference.differences)]
    if None not in spreads:
        yield row("", "sd", [spread or 0.0 for spread in spreads], "", "")


def row(name: str, label: str, values: Sequence[float], sign: str, last_sign: str = "+") -> str:
    """Numbers in columns; the last is a difference."""
    *others, last = values
    return f"{name:<15}{label:<9}{''.join(f'{value:>{sign}12.5f}' for value in others)}{last:>{last_sign}14.5f}"


def in_words(difference: PairedDifference) -> str:
    """The mean with its interval."""
    if difference.interval is None:
        return f"{difference.mean:+.5f} nats (one seed: no interval)"
    low, high = difference.interval
    return f"{difference.mean:+.5f} nats (95 % interval {low:+.5f} to {high:+.5f})"


def nats_per_token(run: RunResult) -> float:
    """On the test split."""
    split = run.splits["test"]
    assert split.tokens and math.isfinite(split.nll)
    return split.nll / split.tokens


def heading(experiment: Experiment, runs: Runs) -> str:
    """Where this was measured, and of what."""
    run = next(iter(runs.values()))[0]
    config = experiment.variants["tied-fp32"]
    where = f"{run.effective.device_name}, torch {run.versions['torch']}, fp32 and bf16"
    model = f"{config.model.num_layers} layers, D={config.model.dim}, T={config.data.seq_len}"
    length = f"{run.steps:,} steps, {run.tokens_seen:,} tokens"
    return f"{where}\n{run.corpus.caption}; {model}, V={run.corpus.vocab_size:,}; {length}"


def main(arguments: list[str] | None = None) -> int:
    """0 done, 1 a run failed, 2 the request was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", default="quickstart", help="what to train (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=300, help="default: %(default)s")
    parser.add_argument("--seeds", type=int, default=3, help="default: %(default)s")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="as in tiedlm compare")
    parser.add_argument("--runs-dir", type=user_path, default=Path("runs"), help="default: ./runs")
    parser.add_argument("--cache-dir", type=user_path, help="where prepared text is kept")
    parser.add_argument("--control", action="store_true", help="fp32 once more, in two micro-batches a step")
    parser.add_argument("--fresh", action="store_true", help="carry all runs out again")
    asked = parser.parse_args(arguments)
    length = [f"training.steps={asked.steps}", "training.tokens=null", "training.epochs=null"]
    settings = [*length, "training.evaluate_every=null", *asked.set]  # validation on the way is for nobody here
    asked.runs_dir.mkdir(parents=True, exist_ok=True)
    try:
        experiment = write_experiment(
            asked.config, asked.runs_dir / "parity.yaml", asked.seeds, settings, control=asked.control
        )
        cache_dir = asked.cache_dir or default_cache_dir()
        compare(experiment, runs_dir=asked.runs_dir, cache_dir=cache_dir, fresh=asked.fresh, talk=Talk())
        runs = finished_runs(experiment, asked.runs_dir)
    except (ConfigError, RunError) as error:
        sys.stderr.write(f"{error}\n")
        return 2 if isinstance(error, ConfigError) else 1
    print(f"{heading(experiment, runs)}\n")
    for line in lines(runs):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
