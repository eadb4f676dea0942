"""`tiedlm count-params`: exact counts, nothing allocated."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from . import completion, options
from .help import examples
from .output import print_json

if TYPE_CHECKING:
    from tiedlm.experiment.count_params import Counted

app = options.new_app()


@app.command(epilog=examples("count-params", "count-params gpt2 mine.yaml", "count-params tied.yaml --memory"))
def count_params(
    configs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CONFIG",
            help="Experiments, runs, or models alone.",
            show_default="quickstart",
            autocompletion=completion.config_names,
        ),
    ] = None,
    memory: Annotated[
        bool, typer.Option("--memory", help="Predict the memory of a training step too; the GPU need not be here.")
    ] = False,
    device: Annotated[
        str | None, typer.Option("--device", metavar="auto|cpu|cuda", help="Where to predict --memory for.")
    ] = None,
    settings: options.Settings = None,
    cache_dir: options.CacheDir = None,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Count parameters by part. Of an experiment each variant, of one run or model both it tied and it untied."""
    from tiedlm.experiment.count_params import count_configs

    names, cache = [options.say_which(name) for name in configs or ["quickstart"]], options.cache_folder(cache_dir)
    counted = count_configs(names, settings or [], cache, memory=memory, device=device)
    if as_json:
        print_json({"models": [model.document() for model in counted]})
    else:
        _show(counted)


def _show(counted: "Sequence[Counted]") -> None:
    """The counts, and the memory of those for which it was forecast."""
    from tiedlm.report.commands.count_params import render_counts
    from tiedlm.report.figures.memory_forecast import ModelForecast

    from .console import console

    forecasts = [
        ModelForecast(one.name, one.tying, one.counts.non_embedding, one.footprint) for one in counted if one.footprint
    ]
    render_counts([model.document() for model in counted], console(), forecasts)
