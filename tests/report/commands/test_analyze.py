"""What `analyze` prints: every figure beside its value by chance, within 80 columns."""

import pytest
import torch
from rich.console import Console

from tests.support.planted import D, normal, planted_pair
from tiedlm.embeddings.analyze import analyze_models
from tiedlm.embeddings.asked import Asked
from tiedlm.embeddings.pair import EmbeddingPair
from tiedlm.embeddings.schema import EmbeddingAnalysis, MeasureDifference, Nearer, OverSeeds
from tiedlm.report.commands.analyze import render_analysis

FEW = 60


def printed(analysis: EmbeddingAnalysis, width: int = 80) -> str:
    console = Console(width=width, record=True, markup=False, emoji=False, highlight=False)
    with console.capture() as captured:
        render_analysis(analysis, console)
    return captured.get()


def cells(text: str, label: str) -> list[list[str]]:
    """The cells of each row with a label."""
    return [line.split(label)[1].split() for line in text.splitlines() if line.strip().startswith(label)]


def model(name: str, *, width: int = D, seed: int = 0) -> EmbeddingPair:
    return planted_pair(normal(FEW, seed=seed), normal(FEW, width, seed=seed + 1), name, counts=torch.arange(FEW))


@pytest.mark.parametrize("width", [80, 50])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    two = analyze_models([model("one"), model("other", seed=2)], Asked(by_frequency=True), ["token 3"])
    text = printed(two, width)
    assert max(map(len, text.splitlines())) <= width
    assert "A input ~ B output" in text and "B output by how often tokens were seen" in text


def test_the_figures_are_those_of_the_analysis_with_their_value_by_chance_below() -> None:
    analysis = analyze_models([model("one")], Asked())
    text, pair = printed(analysis), analysis.pairs[0]
    assert pair.cka is not None and pair.cka_chance is not None
    assert cells(text, "linear CKA") == [[f"{pair.cka:.3f}"]]
    lines = text.splitlines()
    below = lines[next(place for place, line in enumerate(lines) if line.startswith("linear CKA")) + 1]
    assert below.split() == ["by", "chance", f"{pair.cka_chance:.3f}"]
    ranks = [each.effective_rank for each in analysis.matrices]
    assert cells(text, "effective rank") == [[f"{rank:.1f}" for rank in ranks]]


def test_what_is_absent_is_a_dash_and_its_reason_is_said_below() -> None:
    text = printed(analyze_models([model("one", width=7)], Asked()))
    assert cells(text, "cosine, turned") == [["–"]]
    assert "none, the widths differ, 40 and 7." in " ".join(text.split())


def test_figures_that_nobody_asked_for_have_no_row() -> None:
    text = printed(analyze_models([model("one")], Asked(frozenset({"cka"}))))
    assert "linear CKA" in text and "cosine" not in text.split("By chance:")[0] and "IsoScore" not in text
    assert "Pairs of matrices" not in printed(analyze_models([model("one")], Asked(frozenset({"rank"}))))


def test_one_matrix_is_one_column() -> None:
    rows = normal(FEW)
    text = printed(analyze_models([planted_pair(rows, rows, "tied")], Asked(frozenset({"rank"}))))
    assert "input = output" in text and len(cells(text, "effective rank")[0]) == 1


def test_an_experiment_shows_spread_chance_and_the_interval_of_the_verdict() -> None:
    over = [
        OverSeeds(
            variant=name,
            of="input",
            metric="cka",
            mean=mean,
            sd=0.02,
            ci95_seeds=None,
            chance=0.1,
            seeds=[0, 1],
            per_seed=[mean] * 2,
        )
        for name, mean in (("soft", 0.5), ("untied", 0.25))
    ]
    difference = MeasureDifference(
        variant="soft",
        baseline="untied",
        of="input",
        metric="cka",
        mean=0.25,
        ci95_seeds=(0.2, 0.3),
        ci95_corrected=(0.1, 0.4),
        seeds=[0, 1],
        per_seed=[0.25, 0.25],
        verdict="higher",
        pairing="start+batches",
    )
    nothing = EmbeddingAnalysis(models=[], matrices=[], pairs=[])
    like = Nearer(
        variant="tied",
        baseline="untied",
        metric="cka",
        mean=0.9,
        ci95_corrected=(0.8, 1.0),
        seeds=[0, 1],
        per_seed=[0.9, 0.9],
        p_difference=0.01,
        num_corrected_for=4,
        verdict="output",
    )
    measured = {"over_seeds": over, "differences": [difference], "nearer": [like], "baseline": "untied"}
    text = printed(nothing.model_copy(update=measured))
    assert cells(text, "linear CKA") == [
        ["0.500", "±", "0.020", "0.250", "±", "0.020", "0.100"],
        ["+0.900", "[+0.800,", "+1.000]", "output"],
    ]
    assert "The one matrix of tied beside the output and the input of untied" in text
    assert cells(text, "input: linear CKA") == [["+0.250", "[+0.100,", "+0.400]", "higher"]]
