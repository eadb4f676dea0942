"""`tiedlm train`: one run."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import completion, options
from .help import examples
from .output import print_json

if TYPE_CHECKING:
    from tiedlm.run.result import RunResult

app = options.new_app()


Config = Annotated[
    str | None,
    typer.Argument(
        metavar="CONFIG",
        help="A file, or a name from `tiedlm configs`.",
        show_default=False,
        autocompletion=completion.config_names,
    ),
]
Named = Annotated[
    str | None,
    typer.Option("--config", metavar="CONFIG", help="The same as CONFIG.", autocompletion=completion.config_names),
]


@app.command(epilog=examples("train quickstart --variant tied", "train tied.yaml --seed 1 --dry-run"))
def train(
    config: Config = None,
    named: Named = None,
    variant: Annotated[str | None, typer.Option("--variant", help="Which variant of an experiment.")] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, max=2**32 - 1, help="Which seed; the config's first if none.")
    ] = None,
    part: Annotated[
        str | None, typer.Option("--part", help="Which recipe, or budget as in budget-3, of several.")
    ] = None,
    settings: options.Settings = None,
    runs_dir: options.RunsDir = options.RUNS_DIR,
    cache_dir: options.CacheDir = None,
    device: options.Device = None,
    fresh: options.Fresh = False,
    dry_run: options.DryRun = False,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Train one variant with one seed. The result is scored and kept; a run that was stopped goes on."""
    from tiedlm.experiment.expand import expand
    from tiedlm.experiment.parts import load_part
    from tiedlm.experiment.plan import pick
    from tiedlm.run.layout import Run
    from tiedlm.talk import Talk

    name = _one_of(config, named)
    cache, changes = options.cache_folder(cache_dir), options.all_settings(settings, training__device=device)
    loaded = load_part(options.say_which(name), changes, part)
    experiment = expand(loaded, runs_dir, cache, None if dry_run else Talk())
    run = Run(pick(experiment, variant, seed), runs_dir)
    if dry_run:
        from .dry_run import print_forecast

        print_forecast([run], cache, as_json, [run.directory] if experiment.waits_for_tuning else [])
        return
    from tiedlm.experiment.carry_out import train as train_run

    result = train_run(experiment, run, cache_dir=cache, fresh=fresh, talk=Talk())
    if as_json:
        print_json(result.model_dump(mode="json"))
    else:
        _show(result, run.directory)


def _show(result: "RunResult", directory: Path) -> None:
    from tiedlm.report.commands.train import render_run

    from .console import console

    render_run(result, console(), directory)


def _one_of(config: str | None, named: str | None) -> str:
    """The config, given as an argument or with --config."""
    from tiedlm.errors import ConfigError, Problem

    if config is not None and named is not None:
        raise ConfigError(Problem("--config", f"{named!r} is given as well as {config!r}: give one config"))
    name = config or named
    if not name:
        raise ConfigError(Problem("", "which config? As in `tiedlm train quickstart --variant tied`"))
    return name
