"""One finished run on the terminal."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from tests.support.finished_runs import run_result
from tiedlm.report.commands.train import render_run


@pytest.mark.parametrize("width", [40, 80])
def test_a_run_shows_its_figures_and_where_it_lies(width: int) -> None:
    stream = io.StringIO()
    render_run(
        run_result("tied", seed=3, nats=4.0), Console(file=stream, width=width), Path("runs/example/tied/seed-3")
    )
    text = stream.getvalue()
    for figure in ("124,439,808", "38,597,376", "54.60", "4.0000", "57.40", "10.8249", "1,000.00", "no GPU"):
        assert any(figure in line for line in text.splitlines())
    assert "tied, seed 3, has finished" in " ".join(text.split())
    assert "runs/example/tied/seed-3" in text
    assert "±" not in text
    lines = text.splitlines()
    assert len(lines) <= (22 if width == 80 else 28), "one screen"
    assert lines[-1].endswith(".") and "has finished" not in lines[0], "what it was is last, next to the prompt"


def test_a_run_that_measures_noise_shows_its_figures_like_any_other() -> None:
    run = run_result("untied+redrawn", seed=3, nats=4.0)
    run = run.model_copy(update={"config": {**run.config, "added": {"role": "noise_floor", "of": "untied"}}})
    stream = io.StringIO()
    render_run(run, Console(file=stream, width=80))
    assert "163,037,184" in stream.getvalue()
    assert "54.60" in stream.getvalue()
