"""An experiment: every figure over seeds, paired with the baseline's as perplexity is."""

from pathlib import Path

import pytest

from tests.support.small_runs import carry_out, shared_cache, small_run
from tiedlm.comparison.statistics import mean, t_interval
from tiedlm.config.base import ConfigError
from tiedlm.embeddings.analyze import analyze_paths
from tiedlm.embeddings.asked import Asked
from tiedlm.embeddings.metrics import OF_MATRIX, OF_PAIR
from tiedlm.embeddings.over_seeds import analyze_experiment
from tiedlm.embeddings.schema import EmbeddingAnalysis, MeasureDifference
from tiedlm.files import remove_folder
from tiedlm.run.folder import RunFolder

SEEDS = (0, 1, 2)
ISOSCORE = "isotropy.isoscore"


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tied and untied with three seeds each."""
    folder = tmp_path_factory.mktemp("analyzed")
    for seed in SEEDS:
        for variant in ("tied", "untied"):
            recipe = ("seeds=[0,1,2]", "training.steps=20", "training.learning_rate=0.01")
            carry_out(small_run(folder, *recipe, variant=variant, seed=seed))
    return folder / "runs" / "small"


@pytest.fixture(scope="module")
def analysis(experiment: Path) -> EmbeddingAnalysis:
    return analyze_experiment(experiment, Asked(), cache_dir=shared_cache())


def difference(analysis: EmbeddingAnalysis, of: str, metric: str) -> MeasureDifference:
    (found,) = [each for each in analysis.differences if (each.of, each.metric) == (of, metric)]
    return found


def test_every_run_has_both_sides_and_every_pair_is_within_a_run_or_with_the_baseline_of_its_seed(
    analysis: EmbeddingAnalysis,
) -> None:
    runs = [f"{variant}/seed-{seed}" for seed in SEEDS for variant in ("tied", "untied")]
    assert [(each.model, each.side) for each in analysis.matrices] == [
        (run, side) for run in runs for side in ("input", "output")
    ]
    expected = [
        pair
        for seed in SEEDS
        for pair in (
            (f"untied/seed-{seed}", "input", f"untied/seed-{seed}", "output"),
            (f"tied/seed-{seed}", "input", f"untied/seed-{seed}", "input"),
            (f"tied/seed-{seed}", "input", f"untied/seed-{seed}", "output"),
        )
    ]
    assert [(each.a.model, each.a.side, each.b.model, each.b.side) for each in analysis.pairs] == expected
    assert analysis.baseline == "untied"


def test_the_figures_of_a_run_are_those_of_the_run_alone(experiment: Path, analysis: EmbeddingAnalysis) -> None:
    alone = analyze_paths([experiment / "untied" / "seed-1"], Asked(), cache_dir=shared_cache())
    same = [each for each in analysis.matrices if each.model == "untied/seed-1"]
    for one, other in zip(alone.matrices, same, strict=True):
        assert one == other.model_copy(update={"model": one.model})


def test_means_and_intervals_over_seeds_are_those_of_perplexity(analysis: EmbeddingAnalysis) -> None:
    values = {
        variant: [
            each.isotropy.isoscore
            for each in analysis.matrices
            if each.model.startswith(f"{variant}/") and each.side == "output" and each.isotropy
        ]
        for variant in ("tied", "untied")
    }
    (over,) = [
        each for each in analysis.over_seeds if (each.variant, each.of, each.metric) == ("untied", "output", ISOSCORE)
    ]
    assert over.per_seed == values["untied"] and over.seeds == [*SEEDS]
    assert over.mean == mean(over.per_seed) and over.ci95_seeds == t_interval(over.per_seed)
    assert over.chance == pytest.approx((256 * 16 + 2) / (256 + 16 + 1) / 15 - 1 / 15)
    found = difference(analysis, "output", ISOSCORE)
    pairs = zip(values["tied"], values["untied"], strict=True)
    assert found.per_seed == [tied - base for tied, base in pairs if tied is not None and base is not None]
    assert found.ci95_seeds == t_interval(found.per_seed) and found.pairing == "start+batches"


def test_a_verdict_is_that_of_the_corrected_interval_and_says_no_more_than_higher_or_lower(
    analysis: EmbeddingAnalysis,
) -> None:
    assert {each.verdict for each in analysis.differences} >= {"higher", "lower", "cannot_tell"}
    for each in analysis.differences:
        if each.ci95_corrected is None:
            assert each.verdict in ("cannot_tell", "no_difference")
            continue
        low, high = each.ci95_corrected
        assert each.verdict == ("higher" if low > 0 else "lower" if high < 0 else "cannot_tell")
        assert each.num_corrected_for == sum(other.p_difference is not None for other in analysis.differences)


def test_what_only_the_baseline_has_stands_with_its_value_by_chance(analysis: EmbeddingAnalysis) -> None:
    own = [each for each in analysis.over_seeds if each.of == "input ~ output"]
    assert {each.variant for each in own} == {"untied"}
    assert [each.metric for each in own] == [metric.key for metric in OF_PAIR]
    assert not [each for each in analysis.differences if "~" in each.of]
    crossed = {each.of for each in analysis.over_seeds if each.variant == "tied"}
    assert crossed == {"input", "output", "input ~ untied input", "input ~ untied output"}
    assert {each.metric for each in analysis.over_seeds if each.of == "input"} <= {metric.key for metric in OF_MATRIX}


def test_the_one_matrix_is_held_against_both_of_the_baseline_seed_by_seed(analysis: EmbeddingAnalysis) -> None:
    by_of = {each.of: each.per_seed for each in analysis.over_seeds if (each.variant, each.metric) == ("tied", "cka")}
    (found,) = [each for each in analysis.nearer if each.metric == "cka"]
    pairs = zip(by_of["input ~ untied output"], by_of["input ~ untied input"], strict=True)
    assert found.variant == "tied" and found.per_seed == [output - input_ for output, input_ in pairs]


def test_a_common_start_and_one_matrix_are_said_once(analysis: EmbeddingAnalysis) -> None:
    one, start = analysis.notes
    assert one == "Input and output of tied are one matrix: between them is nothing to measure."
    assert start.startswith("tied and untied started from the same input embedding")


def test_a_run_without_a_checkpoint_is_said_and_the_others_are_measured(tmp_path: Path) -> None:
    for variant in ("tied", "untied"):
        for seed in (0, 1):
            carry_out(small_run(tmp_path, "seeds=[0,1]", variant=variant, seed=seed))
    folder = tmp_path / "runs" / "small"
    remove_folder(RunFolder(folder / "untied" / "seed-1").checkpoints)
    found = analyze_experiment(folder, Asked(frozenset({"isotropy"})), cache_dir=shared_cache())
    assert any(note.startswith("untied/seed-1 is left out: ") for note in found.notes)
    one = difference(found, "input", ISOSCORE)
    assert one.seeds == [0] and one.ci95_seeds is None and one.reason == "one seed has no spread"
    assert one.verdict == "cannot_tell"
    assert {each.model for each in found.matrices} == {"tied/seed-0", "untied/seed-0", "tied/seed-1"}


def test_where_nothing_has_finished_there_is_nothing_to_measure(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no run there is finished yet"):
        analyze_experiment(tmp_path, Asked(), cache_dir=tmp_path)
