"""`tiedlm analyze`: what the two matrices look like."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import completion, options
from .help import examples
from .output import print_json

if TYPE_CHECKING:
    from tiedlm.embeddings.asked import Asked
    from tiedlm.embeddings.schema import EmbeddingAnalysis

app = options.new_app()

Paths = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="PATH",
        help="One model or two (a run's folder, or a checkpoint in it), or an experiment. If none: the newest one.",
        show_default=False,
        autocompletion=completion.experiments_or_runs,
    ),
]


@app.command(
    epilog=examples(
        "analyze runs/quickstart/untied/seed-0",
        "analyze runs/quickstart/tied/seed-0 runs/quickstart/untied/seed-0",
        "analyze quickstart --measures isotropy,cka",
    )
)
def analyze(
    paths: Paths = None,
    measures: Annotated[
        str | None,
        typer.Option(
            "--measures",
            metavar="NAME,..",
            help="Some of alignment, cka, neighbours, isotropy, rank, frequency, symmetry, distance.",
        ),
    ] = None,
    by_frequency: Annotated[
        bool, typer.Option("--by-frequency", help="Also by how often tokens were seen; of one model or two.")
    ] = False,
    queries: Annotated[
        str, typer.Option("--queries", metavar="N|all", help="Tokens whose neighbours are looked for, at random.")
    ] = "10000",
    tokens: Annotated[
        str | None,
        typer.Option("--tokens", metavar="WORD,..", help="List the nearest neighbours of these in each matrix."),
    ] = None,
    pairs: Annotated[
        Path | None,
        typer.Option(
            "--pairs",
            metavar="FILE",
            help="Pairs of words with scores of people (two words, a number): do cosines rank them alike?",
            callback=options.file_given,
        ),
    ] = None,
    runs_dir: options.RunsDir = options.RUNS_DIR,
    cache_dir: options.CacheDir = None,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Measure what the two matrices look like. Nothing is stored, and the body is not read."""
    from tiedlm.run.find import find_folders
    from tiedlm.talk import Talk

    words = _words(tokens)
    found = find_folders(paths or [], runs_dir, Talk())
    _check(found, words, by_frequency)
    asked = _asked(measures, by_frequency, queries)
    if pairs is not None:
        from dataclasses import replace

        from tiedlm.embeddings.word_pairs import read_word_pairs

        asked = replace(asked, word_pairs=read_word_pairs(pairs))
    analysis = _analyze(found, asked, words, options.cache_folder(cache_dir))
    if as_json:
        print_json(analysis.model_dump(mode="json"))
        return
    from tiedlm.report.commands.analyze import render_analysis

    from .console import console

    render_analysis(analysis, console())


def _words(tokens: str | None) -> list[str]:
    """What --tokens names; raises ConfigError where that is nothing."""
    from tiedlm.errors import ConfigError, Problem

    words = [word.strip() for word in (tokens or "").split(",")]
    if tokens is not None and not all(words):
        raise ConfigError(Problem("--tokens", f"{tokens!r}: must be words with commas between them"))
    return [word for word in words if word]


def _analyze(found: Sequence[Path], asked: "Asked", words: Sequence[str], cache_dir: Path) -> "EmbeddingAnalysis":
    from tiedlm.embeddings.analyze import analyze_paths
    from tiedlm.embeddings.over_seeds import analyze_experiment
    from tiedlm.run.find import is_experiment
    from tiedlm.talk import Talk

    if is_experiment(found[0]):
        return analyze_experiment(found[0], asked, cache_dir=cache_dir, talk=Talk())
    return analyze_paths(found, asked, cache_dir=cache_dir, words=words, talk=Talk())


def _check(found: Sequence[Path], words: Sequence[str], by_frequency: bool) -> None:
    """Raise ConfigError, before anything slow is imported, where the paths do not go together with the rest."""
    from tiedlm.errors import ConfigError, Problem
    from tiedlm.run.find import is_experiment

    if len(found) > 2:
        raise ConfigError(Problem("", f"{len(found)} paths: give one model, two, or one experiment"))
    experiments = [path for path in found if is_experiment(path)]
    if experiments and len(found) > 1:
        raise ConfigError(Problem("", f"{experiments[0]} is an experiment: give it alone, or give two of its runs"))
    if len(found) == 2 and found[0].resolve() == found[1].resolve():
        raise ConfigError(Problem("", f"{found[1]} is given twice: give two different models, or one"))
    for option, given in (("--tokens", words), ("--by-frequency", by_frequency)):
        if given and experiments:
            raise ConfigError(Problem(option, f"{experiments[0]} is an experiment: give one or two of its runs"))


def _asked(measures: str | None, by_frequency: bool, queries: str) -> "Asked":
    from tiedlm.embeddings.schema import MEASURES
    from tiedlm.errors import ConfigError, Problem

    chosen = [name.strip() for name in measures.split(",")] if measures is not None else list(MEASURES)
    for name in chosen:
        if name not in MEASURES:
            raise ConfigError(Problem("--measures", f"{name!r} is not one of {', '.join(MEASURES)}"))
    is_number = queries.isascii() and queries.isdigit() and len(queries) < 20
    if queries != "all" and not (is_number and int(queries) > 0):
        raise ConfigError(Problem("--queries", f"{queries!r}: must be a whole number above 0, or all"))
    from tiedlm.embeddings.asked import Asked

    return Asked(frozenset(chosen), by_frequency, None if queries == "all" else int(queries))
