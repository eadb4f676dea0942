"""Charts as files."""

import sys
import warnings
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.support.finished_runs import TIED_NATS, UNTIED_NATS, curve, example_comparison, runs, summarize
from tests.support.parts_documents import RECIPES, budgets_comparison, recipes_comparison
from tiedlm.comparison.comparison import Comparison
from tiedlm.config.base import ConfigError
from tiedlm.report.charts.budgets import charts_of_parts
from tiedlm.report.formats.plots import write_charts, write_plots

NAMES = {"differences", "validation-tokens", "validation-seconds", "difference-tokens", "parameters"}


def with_curves(name: str) -> Comparison:
    results = [
        run.model_copy(update={"validation_curve": curve(run)})
        for run in (*runs(name, TIED_NATS), *runs("untied", UNTIED_NATS))
    ]
    return summarize(results, [], "example", "untied", [name, "untied"])


def test_without_matplotlib_the_way_out_is_named_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ConfigError, match=r"--plots: needs matplotlib: pip install 'tiedlm\[plots\]'"):
        write_plots(example_comparison(), tmp_path / "plots")
    assert list(tmp_path.iterdir()) == []


def test_every_chart_is_a_png_and_an_svg(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    name = "<b>$x_1$</b> & $y^"
    written = write_plots(with_curves(name), tmp_path)
    assert {path.name for path in written} == {f"{name}.{kind}" for name in NAMES for kind in ("png", "svg")}
    for path in written:
        if path.suffix == ".png":
            assert path.read_bytes().startswith(b"\x89PNG")
        else:
            text = "".join(ElementTree.parse(path).getroot().itertext())
            assert name in text, "as it is, neither markup nor mathematics"


def test_the_same_comparison_gives_the_same_files(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    one, other = (
        {path.name: path.read_bytes() for path in write_plots(example_comparison(), tmp_path / folder)}
        for folder in ("one", "other")
    )
    assert one == other


def test_recipes_and_budgets_are_drawn_too_however_long_a_name_is(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    name = "<b>$x_1$</b> & $y^"
    long = "a-recipe-with-a-very-long-name-" * 4
    recipes = recipes_comparison(RECIPES | {name: (-0.1, {}), long: (0.1, {}), "new": (None, {})}, ("tied", "soft"))
    charts = [*charts_of_parts(recipes), *charts_of_parts(budgets_comparison(variants=("tied", "soft")))]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a layout that has no room for the plot only warns
        written = write_charts(charts, tmp_path)
    names = {f"{key}.{kind}" for key in ("recipes", "recipes-2", "budgets") for kind in ("png", "svg")}
    assert {path.name for path in written} == names
    text = "".join(ElementTree.parse(tmp_path / "recipes.svg").getroot().itertext())
    assert name in text and "none: no run has finished" in text
