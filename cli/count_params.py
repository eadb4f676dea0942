"""`tiedlm count-params`: exact counts, nothing allocated."""

from typing import Annotated

import typer

from . import options
from .output import print_json

app = options.new_app()


@app.command()
def count_params(
    configs: Annotated[
        list[str] | None,
        typer.Argument(metavar="CONFIG", help="Experiments, runs, or models alone.", show_default="quickstart"),
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

    counted = count_configs(
        configs or ["quickstart"],
        settings or [],
        options.cache_folder(cache_dir),
        memory=memory,
        device=device,
    )
    models = [model.document() for model in counted]
    if as_json:
        print_json({"models": models})
        return
    from tiedlm.report.commands.count_params import render_counts
    from tiedlm.report.figures.memory_forecast import ModelForecast

    from .console import console

    forecasts = [
        ModelForecast(one.name, one.tying, one.counts.non_embedding, one.footprint) for one in counted if one.footprint
    ]
    render_counts(models, console(), forecasts)
