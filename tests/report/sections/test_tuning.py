"""The section on tuning: the doubt at a glance, every trial in the details, chosen values in the main table."""

import io

from rich.console import Console

from tests.support.finished_runs import TIED_NATS, UNTIED_NATS, runs, summarize
from tiedlm.comparison.comparison import Comparison
from tiedlm.experiment.halving import Halving
from tiedlm.experiment.space import Range
from tiedlm.experiment.tuning import (
    Axis,
    PointScore,
    SeedScore,
    TunedVariant,
    Tuning,
    edges_of,
    point_score,
    tuned_variant,
)
from tiedlm.report.figures.main_table import main_table
from tiedlm.report.formats.terminal import render_comparison
from tiedlm.report.sections.tuning import SECTION
from tiedlm.run.rung import RungScore

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


def test_at_a_glance_it_says_what_was_searched_how_thoroughly_and_what_was_not() -> None:
    """All of what is not in the grid and takes effect: the keys that matter most by name."""
    what, doubt = SECTION.at_a_glance(COMPARED)
    assert what.startswith(
        "Tuned: learning_rate, schedule, 3 settings, one seed; not tuned: embedding_learning_rate_factor, input_scale, "
        "init_std and "
    )
    assert doubt == "To be looked at again: untied: 1 of 3 settings diverged."
    (whole, _) = SECTION.remarks(COMPARED)
    left = whole.partition("Not tuned: ")[2].rstrip(".").split(", ")
    assert f"and {len(left) - 3} more" in what
    assert {"embedding_weight_decay", "output_init_std", "warmup", "optimizer"} <= {*left}
    assert not {*left} & {"learning_rate", "schedule", "momentum", "embedding_max_grad_norm"}, (
        "tuned, or without effect"
    )
    factor = "training.embedding_learning_rate_factor"
    assert COMPARED.tuning is not None
    with_factor = [*COMPARED.tuning.axes, Axis(key=factor, label="embedding_learning_rate_factor", values=[1, 8])]
    tuning = COMPARED.tuning.model_copy(update={"axes": with_factor})
    what, _ = SECTION.remarks(COMPARED.model_copy(update={"tuning": tuning}))
    assert "output_learning_rate_factor" in whole
    assert "output_learning_rate_factor" not in what, "it follows that of the embeddings"
    two_seeds = compared([[4.2, 4.1], [4.1, 4.0], [4.15, 4.1]], [[4.3, 4.1], [4.05, 4.0], [4.1, 4.1]], (1, 1))
    (only,) = SECTION.at_a_glance(two_seeds)
    assert "3 settings, 2 seeds;" in only


def test_two_sentences_say_what_was_tried_and_where_to_look_again() -> None:
    what, doubt = SECTION.remarks(COMPARED)
    assert "learning_rate, schedule" in what
    assert "the same 3 settings" in what and "validation alone" in what and "seed 100" in what
    assert doubt == "To be looked at again: untied: 1 of 3 settings diverged."
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


def candidate(number: int, rate: float, nats: float | None, rungs: list[tuple[int, float]]) -> PointScore:
    """One of a search that halves: its score at the end and at the steps of its rungs."""
    scores = [RungScore(step=step, share=step / 100, nll=1e4 * loss, tokens=10_000) for step, loss in rungs]
    final = None if nats is None else 1e4 * nats
    failure = None if nats is not None or rungs else "the loss is nan"
    seed = SeedScore(seed=100, nll=final, tokens=10_000, nats_per_token=nats, failure=failure, rungs=scores)
    return point_score(f"halving-0{number}", {"training.learning_rate": rate}, [seed])


HALVED = [
    candidate(1, 1e-3, None, [(20, 5.2)]),
    candidate(2, 2e-3, 4.2, [(20, 5.0), (60, 4.6)]),
    candidate(3, 9.9e-3, 4.1, [(20, 5.1), (60, 4.5)]),
    candidate(4, 5e-3, None, []),
    candidate(5, 3e-3, None, [(20, 5.05), (60, 4.7)]),
]


def halved() -> Comparison:
    axes = [Axis(key="training.learning_rate", label="learning_rate", range=Range(low=1e-3, high=1e-2, log=True))]
    tuning = Tuning(
        method="halving",
        seeds=[100],
        axes=axes,
        variants=[tuned_variant(name, HALVED, axes) for name in ("tied", "untied")],
        halving=Halving(reduction=2, min_fraction=0.3),
    )
    return COMPARED.model_copy(update={"tuning": tuning})


def test_of_a_space_each_variant_has_a_table_the_best_first_and_the_pruned_with_their_step() -> None:
    tied, untied = SECTION.tables(halved())
    assert tied.title.startswith("Trials of tied") and untied.title.startswith("Trials of untied")
    assert tied.names == ("halving-03", "halving-02", "halving-05", "halving-01", "halving-04")
    assert {row.label: row.cells for row in tied.rows} == {
        "learning_rate": ("0.0099", "0.002", "0.003", "0.001", "0.005"),
        "nats per token": ("* 4.1000", "4.2000", "4.7000", "5.2000", "diverged"),
        "pruned after step": ("–", "–", "60", "20", "–"),
    }


def test_the_rungs_are_told() -> None:
    what, doubt = SECTION.remarks(halved())
    assert "the same 5 settings drawn" in what
    assert "3 went on after 30 % of the run, 2 went on after 60 % of the run" in what
    assert "diverged" in doubt and "largest" not in doubt, "an edge is a sign, told elsewhere"
    assert "1 of 5 settings diverged" in doubt, "those that were pruned did not"


def test_a_setting_of_one_variant_alone_is_not_tuned_for_the_others() -> None:
    own = Axis(key="training.output_learning_rate_factor", label="output", values=[1, 2], variants=["untied"])
    assert COMPARED.tuning is not None
    tied, untied = COMPARED.tuning.variants
    changed = untied.model_copy(update={"settings": {**untied.settings, own.key: 2}})
    tuning = COMPARED.tuning.model_copy(update={"axes": [*AXES, own], "variants": [tied, changed]})
    assert tuned_rows(COMPARED.model_copy(update={"tuning": tuning}))["tuned output"] == ("not tuned", "2")
