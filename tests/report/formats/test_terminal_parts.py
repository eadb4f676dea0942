"""The one screen of an experiment with recipes or budgets, and its details."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from tests.support.parts_documents import FAILURE, RECIPES, budgets_comparison, recipes_comparison
from tests.support.terminal import printed_on, unwrapped
from tiedlm.comparison.comparison import Pending
from tiedlm.comparison.parts.document import PartsComparison
from tiedlm.report.formats.terminal_parts import render_parts
from tiedlm.report.formats.terminal_writer import TerminalWriter

FOLDER = Path("runs/recipes")
LONG = "a-recipe-with-a-very-long-name-" * 3


def shown(document: PartsComparison, width: int = 80, details: bool = False, encoding: str = "utf-8") -> str:
    command = f"tiedlm report {FOLDER}"
    return printed_on(
        width,
        lambda console: render_parts(document, console, details, stored_in=FOLDER, command=command),
        encoding,
    )


def test_one_screen_holds_every_recipe_what_they_say_together_and_the_verdict_last() -> None:
    document = recipes_comparison()
    assert document.recipes is not None
    screen = shown(document)
    assert len(screen.splitlines()) <= 23, "the command above and the prompt below it stay on the screen"
    assert max(map(len, screen.splitlines())) <= 80
    text = unwrapped(screen)
    for within in document.recipes.within:
        assert within.recipe in text
    for words in (
        "recipe tied untied tied - untied verdict",
        "sqrt-dim 59.23 56.86 +0.0408 [+0.0397, +0.0420] worse",
        "Across 6 recipes: -0.0095 [-0.0378, +0.0188]; one more recipe: [-0.0844, +0.0654]; below 0 under 5, above 0",
        "turns with variants.tied.model.tying.input_scale: better at null (plain), worse at sqrt_dim (sqrt-dim).",
        "Best against best: tied under plain, untied under long-warmup: -0.0210 [-0.0239, -0.0181], better",
        "Stored in runs/recipes; all of it (--html FILE: as a page): tiedlm report runs/recipes --details",
        "below 0 favours tied",
    ):
        assert words in text, words
    assert text.endswith(
        f"On WikiText-103 (wikitext-103-v1); V=32,000, D=768, 100M tokens, fp32, 4 seeds; 6 recipes: "
        f"{document.statements[0]}."
    )


def test_a_key_that_the_verdict_names_is_not_named_twice() -> None:
    document = recipes_comparison()
    named = document.model_copy(update={"verdict": "it hangs on variants.tied.model.tying.input_scale"})
    assert "turns with" in shown(document) and "turns with" not in shown(named)


def test_one_screen_holds_every_budget_and_the_trend() -> None:
    screen = shown(budgets_comparison())
    assert len(screen.splitlines()) <= 18
    text = unwrapped(screen)
    assert "tokens tied untied tied - untied verdict" in text
    assert "50M (×0.5) 53.47 56.80 -0.0603 [-0.0649, -0.0558] better" in text
    assert "Trend: tied - untied changes by +0.0186 [+0.0164, +0.0209] nats per token for each doubling" in text
    assert "the difference shrinks." in text


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120])
@pytest.mark.parametrize("variants", [("tied",), ("tied", "soft")])
def test_no_number_is_cut_at_any_width(width: int, variants: tuple[str, ...]) -> None:
    recipes = RECIPES | {LONG: (-0.2, {"model.init_std": 0.1})}
    document = recipes_comparison(recipes, variants)
    wide, narrow = (unwrapped(shown(document, each)) for each in (1_000, width))
    assert document.recipes is not None
    for within in document.recipes.within:
        assert within.mean is not None and within.ci95_seeds is not None
        interval = next(word for word in wide.split() if word.startswith(f"[{within.ci95_seeds[0]:+.4f}"))
        assert interval in narrow.split()
    assert LONG in narrow


def test_names_are_text_and_never_markup_nor_steer_the_terminal() -> None:
    names = {"[red]": (-0.01, {"a": "[bold]"}), "<b>x</b>": (-0.02, {}), "\x1b[31mred\u202e": (None, {})}
    text = shown(recipes_comparison(names), details=True)
    assert "[red]" in text and "<b>x</b>" in text and "[bold]" in text and "?[31mred?" in text
    assert "\x1b" not in text and "\u202e" not in text


def test_a_recipe_without_a_finished_run_failures_and_missing_runs_are_said() -> None:
    pending = {"new": Pending(variant="tied", seed=0)}
    document = recipes_comparison(RECIPES | {"new": (None, {})}, failures={"plain": FAILURE}, pending=pending)
    text = unwrapped(shown(document))
    assert "new – – – cannot tell" in text
    assert "tied - untied (new): none, no run has finished." in text
    assert "Failed: plain, tied, seed 1 (diverged at step 1,234): the loss is not a number" in text
    assert "Not finished yet: 1 planned run (1 of new)." in text
    assert "4 seeds, so far; 7 recipes:" in text


def test_one_seed_has_neither_interval_nor_a_judge_and_the_reasons_are_said() -> None:
    text = unwrapped(shown(recipes_comparison(num_seeds=1)))
    assert "tied - untied: no interval, one seed has no spread." in text
    assert "cannot tell, no seed is left to judge by" in text
    assert "[95 % interval]" not in text


def test_one_recipe_has_no_prediction_and_it_is_said_once() -> None:
    document = recipes_comparison({"plain": (-0.03, {})})
    assert document.recipes is not None
    text, mean = unwrapped(shown(document)), document.recipes.across[0].mean or 0
    said = f"Across 1 recipe: {mean:+.3f} (no interval, one recipe has no spread); below 0 under 1, above 0 under 0."
    assert said in text


def test_the_details_hold_each_part_under_its_name_and_end_as_the_screen_does() -> None:
    document = recipes_comparison()
    details = shown(document, details=True)
    screen, _, verdict = shown(document).partition("Stored in")
    assert screen in details
    assert details.endswith(verdict.partition("\n\n")[2]), "the conditions and the verdict"
    for recipe in RECIPES:
        assert f"Recipe {recipe}\n" in details
    text = unwrapped(details)
    assert text.count("Every run (variant, seed)") == len(RECIPES)
    assert "It changes training.learning_rate = 0.003, training.warmup = 200." in text
    assert "All recipes together" in text and "under one more recipe [-0.0844, +0.0654]" in text
    assert "Under each recipe" in text and "◆" in text, "the forest plot in letters"


def test_without_utf8_all_of_it_is_ascii() -> None:
    for document in (recipes_comparison(), budgets_comparison()):
        text = shown(document, details=True, encoding="ascii")
        assert text.isascii() and "\\u" not in text
    assert "(x0.5)" in text


def test_no_color_is_heeded_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    console = Console(force_terminal=True, width=80)
    with console.capture() as captured:
        render_parts(recipes_comparison(), console)
    assert "\x1b[3" not in captured.get()


def test_a_heading_is_as_wide_as_the_text() -> None:
    text = printed_on(30, lambda console: TerminalWriter(console).heading("plain"))
    assert text == f"{'━' * 30}\nplain\n"


_SHOW = """
import sys, pathlib
from rich.console import Console
from tiedlm.comparison.parts.stored import load_parts_comparison
from tiedlm.report.formats.html_parts import parts_html
from tiedlm.report.formats.terminal_parts import render_parts
document = load_parts_comparison(pathlib.Path(sys.argv[1]))
render_parts(document, Console(), details=True)
parts_html(document)
assert not {"torch", "scipy", "numpy", "matplotlib", "transformers"} & sys.modules.keys()
"""


def test_a_stored_document_is_shown_without_heavy_imports(tmp_path: Path) -> None:
    (tmp_path / "comparison.json").write_text(recipes_comparison().model_dump_json())
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    subprocess.run([sys.executable, "-c", _SHOW, str(tmp_path)], check=True, env=environment, stdout=subprocess.PIPE)
