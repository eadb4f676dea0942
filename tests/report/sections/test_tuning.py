"""The section on tuning: the doubt at a glance, every trial in the details, chosen values in the main table."""

import io

from rich.console import Console

from tests.support.finished_runs import TIED_NATS, UNTIED_NATS, runs, summarize
from tiedlm.comparison.comparison import Comparison
from tiedlm.experiment.tuning import Axis, PointScore, SeedScore, TunedVariant, Tuning, edges_of
from tiedlm.report.figures.main_table import main_table
from tiedlm.report.formats.terminal import render_comparison
from tiedlm.report.sections.tuning import SECTION

RATES = [1e-3, 2e-3, 4e-3]
AXES = [
    Axis(key="training.learning_rate", label="learning_rate", values=RATES),
    Axis(key="training.schedule", label="schedule", values=["cosine"]),
]


def trial(rate: float, nats: list[float | None]) -> PointScore:
    """One that cost so much with seeds 100, 101, ..; None diverged."""
    per_seed = [
        SeedScore(seed=100 + index, nll=None if one is None else 1e4 * one, tokens=10_000, nats_per_token=one)
        for index, one in enumerate(nats)
    ]
    known = [one for one in nats if one is not None]
    mean = sum(known) / len(known) if len(known) == len(nats) else None
    settings = {"training.learning_rate": rate, "training.schedule": "cosine"}
    return PointScore(settings=settings, name=f"learning_rate={rate}", nats_per_token=mean, per_seed=per_seed)


def tried(variant: str, nats: list[list[float | None]], best: int) -> TunedVariant:
    trials = [trial(rate, some) for rate, some in zip(RATES, nats, strict=True)]
    settings = trials[best].settings
    edges = list(edges_of(variant, settings, AXES))
    return TunedVariant(variant=variant, settings=settings, chosen=trials[best].name, edges=edges, trials=trials)


def compared(tied: list[list[float | None]], untied: list[list[float | None]], bests: tuple[int, int]) -> Comparison:
    variants = [tried("tied", tied, bests[0]), tried("untied", untied, bests[1])]
    redrawn = {"added": {"role": "noise_floor", "of": "untied"}}
    results = [*runs("tied", TIED_NATS), *runs("untied", UNTIED_NATS)]
    results += [
        run.model_copy(update={"config": {**run.config, **redrawn}}) for run in runs("untied+redrawn", UNTIED_NATS)
    ]
    tuning = Tuning(seeds=[100 + index for index in range(len(tied[0]))], axes=AXES, variants=variants)
    return summarize(results, [], name="example", baseline="untied", order=["tied", "untied"], tuning=tuning)


def tuned_rows(comparison: Comparison) -> dict[str, tuple[str, ...]]:
    return {row.label: row.cells for row in main_table(comparison).rows if row.label.startswith("tuned ")}


COMPARED = compared([[4.2], [4.1], [4.15]], [[4.3], [None], [4.05]], (1, 2))


def test_the_chosen_values_stand_in_the_table_as_a_config_writes_them() -> None:
    assert tuned_rows(COMPARED) == {
        "tuned learning_rate": ("0.002", "0.004"),
        "tuned schedule": ("cosine", "cosine"),
    }


def test_what_the_plan_added_has_the_settings_of_the_variant_it_was_made_of() -> None:
    shown = COMPARED.model_copy(update={"baseline": "untied+redrawn"})
    assert main_table(shown).names == ("tied", "untied", "untied+redrawn")
    assert tuned_rows(shown)["tuned learning_rate"] == ("0.002", "0.004", "0.004")


def test_two_sentences_say_what_was_tried_and_where_to_look_again() -> None:
    what, doubt = SECTION.remarks(COMPARED)
    assert "learning_rate, schedule" in what
    assert "the same 3 settings" in what and "validation alone" in what and "seed 100" in what
    assert "untied: learning_rate 0.004 is the largest tried" in doubt
    assert "untied: 1 of 3 settings diverged" in doubt
    assert "tied: learning_rate 0.002" not in doubt
    (only,) = SECTION.remarks(compared([[4.2], [4.1], [4.15]], [[4.3], [4.05], [4.1]], (1, 1)))
    assert only == what


def test_every_trial_is_among_the_details_with_the_lowest_marked() -> None:
    (table,) = SECTION.tables(COMPARED)
    assert table.names == ("learning_rate=0.001", "learning_rate=0.002", "learning_rate=0.004")
    cells = {row.label: row.cells for row in table.rows}
    assert cells == {
        "tied": ("4.2000", "* 4.1000", "4.1500"),
        "untied": ("4.3000", "diverged", "* 4.0500"),
    }
    several = compared([[4.2, 4.0], [4.0, 3.0], [4, None]], [[4, 5], [4, 4], [3, 3]], (1, 2))
    (table,) = SECTION.tables(several)
    assert [(row.label, row.cells) for row in table.rows[:3]] == [
        ("tied", ("4.1000", "* 3.5000", "diverged")),
        ("tied, 100", ("4.2000", "4.0000", "4.0000")),
        ("tied, 101", ("4.0000", "3.0000", "diverged")),
    ]


def test_a_comparison_without_a_tuning_says_nothing_of_it() -> None:
    plain = COMPARED.model_copy(update={"tuning": None})
    assert not [*tuned_rows(plain), *SECTION.remarks(plain), *SECTION.tables(plain)]


def test_it_is_kept_with_the_comparison_and_printed_whole() -> None:
    assert Comparison.model_validate_json(COMPARED.model_dump_json()) == COMPARED
    stream = io.StringIO()
    render_comparison(COMPARED, Console(file=stream, width=80), details=True)
    shown = stream.getvalue()
    for words in ("tuned learning_rate", "* 4.0500", "diverged", "Tuned: learning_rate"):
        assert words in shown
