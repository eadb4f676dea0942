"""What `tiedlm count-params` prints: parameters by part, and on request the memory forecast."""

from collections.abc import Sequence

from rich.console import Console

from tiedlm.report.figures.memory_forecast import ModelForecast, forecast_notes, forecast_tables
from tiedlm.report.figures.parameter_counts import Models, context_lengths, counts_table, savings_of_models
from tiedlm.report.formats.terminal_writer import TerminalWriter


def render_counts(models: Models, console: Console, forecasts: Sequence[ModelForecast] = ()) -> None:
    """Print parameter counts and the memory forecasts, if any; `models` as in the JSON of `count-params`."""
    writer = TerminalWriter(console)
    writer.table(counts_table(models))
    writer.paragraphs([*savings_of_models(models), *context_lengths(models)], blank_line_above=True)
    writer.tables(forecast_tables(forecasts))
    writer.paragraphs(forecast_notes(forecasts), blank_line_above=True)
