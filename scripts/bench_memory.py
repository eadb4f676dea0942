"""Predicted and measured peak memory of training on the CPU: called by `bench_memory`."""
# ruff: noqa: T201 (its output is what it prints)

import argparse
import itertools
import sys

from made_up import made_up_run

from tiedlm.forecast.memory import Target, forecast_peak
from tiedlm.run.config import RunConfig
from tiedlm.run.probe import measure

MIB = 2**20


def config_of(tying: str, precision: str, asked: argparse.Namespace) -> RunConfig:
    """A run with the sizes asked for; its ids are made up."""
    model = {"num_layers": asked.num_layers, "dim": asked.dim, "num_heads": asked.dim // 32}
    recipe = {"steps": asked.steps, "batch_size": asked.batch_size, "learning_rate": 1e-3, "precision": precision}
    return made_up_run(tying, asked.seq_len, model, {**recipe, "device": "cpu", "num_threads": 1})


def main() -> None:
    """Print a line for each arm, precision and micro-batch, then the gaps between the arms."""
    parser = argparse.ArgumentParser(description=__doc__)
    sizes = {"vocab_size": 50_000, "dim": 256, "num_layers": 2, "seq_len": 128, "batch_size": 8, "steps": 3}
    for name, default in sizes.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=default, help="default: %(default)s")
    asked = parser.parse_args()
    print(f"V={asked.vocab_size:,} D={asked.dim} T={asked.seq_len} batch={asked.batch_size}, growth of VmHWM, MiB")
    print(f"{'precision':<10}{'micro-batch':>12}{'':>4}{'tying':<8}{'predicted':>10}{'measured':>10}{'ratio':>8}")
    for precision, micro_batch_size in itertools.product(("fp32", "bf16"), (asked.batch_size, asked.batch_size // 2)):
        gaps = [0, 0]
        for tying, sign in (("tied", -1), ("untied", 1)):
            config = config_of(tying, precision, asked)
            target = Target("cpu", config.training.precision, micro_batch_size)  # type: ignore[arg-type]
            sizes_here = {"vocab_size": asked.vocab_size, "seq_len": asked.seq_len, "max_seq_len": config.max_seq_len}
            predicted = forecast_peak(config.model, config.training, target, **sizes_here).peak_bytes
            measured = measure(config, micro_batch_size, asked.vocab_size, asked.steps).host_growth_bytes
            if predicted is None or measured is None:
                sys.exit("no prediction, or no /proc to measure with")
            line(precision, micro_batch_size, tying, predicted, measured)
            gaps = [gaps[0] + sign * predicted, gaps[1] + sign * measured]
        line(precision, micro_batch_size, "gap", *gaps)
    print(f"for good the gap is {16 * asked.vocab_size * asked.dim / MIB:,.1f} MiB (16 bytes x V x D)")


def line(precision: str, micro_batch_size: int, tying: str, predicted: int, measured: int) -> None:
    """One line of the table."""
    figures = f"{predicted / MIB:>10,.1f}{measured / MIB:>10,.1f}{predicted / measured:>8.3f}"
    print(f"{precision:<10}{micro_batch_size:>12}{'':>4}{tying:<8}{figures}", flush=True)


if __name__ == "__main__":
    main()
