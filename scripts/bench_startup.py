"""How long commands take that train nothing: called by `bench_startup`."""
# ruff: noqa: T201 (its output is what it prints)

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
from filelock import FileLock
from timing import machine_in_words

ROOT = Path(__file__).parent.parent
CONFIG = """
name: tiny
seeds: {seeds}
data: {{corpus: {{type: text, file: {text}}}, tokenizer: {{type: byte}}, seq_len: 16}}
model: {{num_layers: 1, dim: 16, num_heads: 2}}
training: {{steps: 20, batch_size: 2, learning_rate: 1e-3, precision: fp32, device: cpu, num_threads: 1}}
variants:
  tied: {{}}
  untied: {{model: {{tying: {{type: untied}}}}}}
"""
MAKE = """
import sys
from pathlib import Path
from tiedlm.experiment.plan import plan
from tiedlm.experiment.reading import load_experiment
from tiedlm.run.execute import execute
for run in plan(load_experiment("tiny.yaml"), Path("runs")):
    execute(run, cache_dir=Path("cache"))
"""
"""Trains an experiment in one process, which is quick, and its peaks of memory are looked at by nobody here."""
RUN = "import sys; from tiedlm_cli.main import main; sys.exit(main())"


@dataclass(frozen=True)
class Timed:
    """A process to time: its arguments to Python, the exit code it must end with, and the aim in ms, if any."""

    label: str
    arguments: tuple[str, ...]
    code: int = 0
    aim: int | None = None


def of_python(program: str) -> Timed:
    """What nothing of ours can be quicker than."""
    return Timed(f'python -c "{program}"', ("-c", program))


def of_tiedlm(words: str, code: int = 0, aim: int | None = None, label: str = "") -> Timed:
    """A command, started as the installed one is."""
    return Timed(f"tiedlm {label or words}", ("-c", RUN, *words.split()), code, aim)


def processes(num_seeds: int) -> list[Timed]:
    """All that is timed, of an experiment of so many seeds; somebody else carries out one more."""
    one_more = ",".join(map(str, range(num_seeds + 1)))
    return [
        *map(of_python, ("pass", "import typer", "import torch")),
        of_tiedlm("--version"),
        of_tiedlm("--help", aim=120),
        of_tiedlm("compare --help", aim=120),
        of_tiedlm("configs"),
        of_tiedlm("compare no-such-config", code=2),
        of_tiedlm("compare quickstart --set training.step=3", code=2),
        of_tiedlm("count-params quickstart --set model.dim=x", code=2),
        of_tiedlm("evaluate runs", code=2),
        of_tiedlm("report runs/tiny", aim=350),
        of_tiedlm("report runs/tiny --json", aim=350),
        of_tiedlm("compare runs/tiny", aim=350),
        of_tiedlm("compare tiny.yaml", aim=350),
        of_tiedlm("compare tiny.yaml --json", aim=350),
        of_tiedlm(f"compare tiny.yaml --set seeds=[{one_more}]", code=1, label="compare tiny.yaml, which is running"),
        of_tiedlm("count-params", aim=2500),
    ]


class Place:
    """A copy of the sources as they are installed, with a finished experiment that they made, in a folder."""

    def __init__(self, sources: Path, folder: Path, num_seeds: int) -> None:
        self.folder = folder
        for name, place in (("tiedlm", "tiedlm"), ("configs", "tiedlm/configs"), ("cli", "tiedlm_cli")):
            shutil.copytree(sources / name, folder / "site" / place, ignore=shutil.ignore_patterns("__pycache__"))
        text = folder / "text.txt"
        text.write_text("".join(f"Paragraph {number} says that {number} is a number.\n\n" for number in range(300)))
        (folder / "tiny.yaml").write_text(CONFIG.format(seeds=list(range(num_seeds)), text=text))
        self.run("-c", MAKE)
        self.run("-c", RUN, "compare", "tiny.yaml")

    def run(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Python with these arguments, to its end."""
        own = {"PYTHONPATH": str(self.folder / "site"), "TIEDLM_CACHE": str(self.folder / "cache")}
        environment = {**os.environ, **own, "PYTHONDONTWRITEBYTECODE": ""}  # an installed package is compiled too
        command = [sys.executable, "-P", *arguments]
        return subprocess.run(command, capture_output=True, text=True, cwd=self.folder, env=environment)

    def seconds_of(self, timed: Timed) -> float:
        """How long a process takes from its start to its end; stops everything where it does not end as it should."""
        began = time.perf_counter()
        ended = self.run(*timed.arguments)
        seconds = time.perf_counter() - began
        if ended.returncode != timed.code:
            sys.exit(f"{timed.label}: ended with {ended.returncode}, not {timed.code}\n{ended.stderr}")
        return seconds

    @contextmanager
    def being_carried_out(self, seed: int) -> Iterator[None]:
        """As while another process trains one more seed."""
        run = self.folder / "runs" / "tiny" / "tied" / f"seed-{seed}"
        run.mkdir(parents=True)
        with FileLock(run / "lock"):
            yield


Taken = dict[tuple[str, str], list[float]]
"""The ms of every process by its label and the name of the place."""


def take(places: Mapping[str, Place], timed: Sequence[Timed], rounds: int) -> Taken:
    """Time every process in every place, after a round that warms up.

    Round by round: what slows the machine down for a while slows all of them down.
    """
    taken: Taken = {(one.label, name): [] for one in timed for name in places}
    for number in range(rounds + 1):
        for one in timed:
            for name, place in places.items():
                ms = 1000 * place.seconds_of(one)
                if number:
                    taken[one.label, name].append(ms)
    return taken


def main() -> None:
    """Print a line for each command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="processes of each command; default: %(default)s")
    parser.add_argument("--seeds", type=int, default=5, help="of the experiment that is printed; default: %(default)s")
    parser.add_argument("--beside", type=Path, metavar="FOLDER", help="other sources of tiedlm, in the same rounds")
    parser.add_argument("--only", metavar="WORD", default="", help="what has this in its line alone; default: all")
    asked = parser.parse_args()
    sources = ({"beside": asked.beside} if asked.beside else {}) | {"here": ROOT}
    timed = [one for one in processes(asked.seeds) if asked.only in one.label]
    print(f"{machine_in_words(torch.device('cpu'))}, Python {sys.version.split()[0]}; nothing is trained: no precision")
    print(f"ms from start to end, {asked.rounds} processes each; the experiment has 2 variants x {asked.seeds} seeds")
    with tempfile.TemporaryDirectory() as folder, ExitStack() as held:
        places = {name: Place(path, Path(folder) / name, asked.seeds) for name, path in sources.items()}
        for place in places.values():
            held.enter_context(place.being_carried_out(asked.seeds))
        taken = take(places, timed, asked.rounds)
    print(f"{'':<50}" + "".join(f"{name + ' median':>15}{'min':>7}" for name in places) + f"{'aim':>7}")
    for one in timed:
        figures = "".join(_figures(taken[one.label, name]) for name in places)
        print(f"{one.label:<50}{figures}{one.aim or '':>7}".rstrip())


def _figures(taken: Sequence[float]) -> str:
    return f"{statistics.median(taken):>15,.0f}{min(taken):>7,.0f}"


if __name__ == "__main__":
    main()
