"""One model, or two matched token by token: what is measured, and what is said where it cannot be."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch

from tests.support.planted import D, V, normal, planted_pair, rotation
from tiedlm.config.base import ConfigError
from tiedlm.embeddings.analyze import analyze_models
from tiedlm.embeddings.asked import Asked
from tiedlm.embeddings.metrics import OF_MATRIX, OF_PAIR, chance_of, value_of
from tiedlm.embeddings.pair import EmbeddingPair
from tiedlm.embeddings.schema import MEASURES, EmbeddingAnalysis, MatrixMeasures, PairMeasures
from tiedlm.run.token_types import BINS
from tiedlm.talk import Silence, Update

FEW = 200
COUNTS = torch.arange(FEW) * 7


def analyzed(*models: EmbeddingPair, **asked: object) -> EmbeddingAnalysis:
    return analyze_models(models, Asked(**asked))  # type: ignore[arg-type]


def untied(name: str = "untied", num_rows: int = FEW, **more: object) -> EmbeddingPair:
    return planted_pair(normal(num_rows), normal(num_rows, seed=1), name, **more)  # type: ignore[arg-type]


def every(found: EmbeddingAnalysis) -> list[MatrixMeasures | PairMeasures]:
    return [*found.matrices, *found.pairs]


def sides_of(pair: PairMeasures) -> tuple[str, str, str, str]:
    return pair.a.model, pair.a.side, pair.b.model, pair.b.side


def test_one_model_has_its_two_matrices_and_one_beside_the_other() -> None:
    rows = normal(V)
    found = analyzed(planted_pair(rows, (rows.double() @ rotation()).float(), counts=torch.arange(V)))
    assert [(each.model, each.side, each.num_tokens) for each in found.matrices] == [
        ("model", "input", V),
        ("model", "output", V),
    ]
    (pair,) = found.pairs
    assert sides_of(pair) == ("model", "input", "model", "output")
    assert pair.alignment is not None and pair.alignment.orthogonal is not None
    assert pair.alignment.orthogonal.held_out == pytest.approx(1, abs=1e-6)
    assert pair.cka == pytest.approx(1, abs=1e-6)
    assert {*pair.absent} == set() and all(value_of(pair, metric.key) is not None for metric in OF_PAIR)
    for each in found.matrices:
        assert {*each.absent} == {"frequency.direction", "distance"}
        assert "only a run knows" in each.absent["distance"]
        unknown = {"frequency.direction", "distance.relative", "distance.cosine", "word_pairs.spearman"}
        known = [metric for metric in OF_MATRIX if value_of(each, metric.key) is not None]
        assert {metric.key for metric in OF_MATRIX} - {metric.key for metric in known} == unknown
        assert all(chance_of(each, metric) is not None for metric in known)


def test_of_a_model_with_one_matrix_it_is_said_and_the_rest_is_measured() -> None:
    rows = normal(FEW)
    for output in (rows, rows.clone()):
        found = analyzed(planted_pair(rows, output, "tied"))
        assert found.pairs == [] and found.models[0].one_matrix
        assert found.notes == ["Input and output of tied are one matrix: between them there is nothing to measure."]
        one, other = found.matrices
        assert one.side == "input" and other == one.model_copy(update={"side": "output"})


def test_tokens_of_two_models_are_matched_by_name_never_by_row() -> None:
    """The second has the same rows in another order, and some tokens more."""
    order = torch.randperm(FEW, generator=torch.Generator().manual_seed(2))
    names = [f"token {row}" for row in order.tolist()] + ["more", "and more"]
    one = untied("one")
    rows = torch.cat([one.input[order], normal(2, D, 8)])
    found = analyzed(one, planted_pair(rows, normal(FEW + 2, D, 7), "other", names), measures=frozenset({"cka"}))
    own = [("one", "input", "one", "output"), ("other", "input", "other", "output")]
    four = [("one", a, "other", b) for a in ("input", "output") for b in ("input", "output")]
    assert [sides_of(pair) for pair in found.pairs] == own + four
    by_sides = {sides_of(pair): pair for pair in found.pairs}
    assert by_sides["one", "input", "other", "input"].cka == pytest.approx(1, abs=1e-6)
    assert all(pair.num_tokens == FEW for pair in found.pairs)
    assert found.notes == ["Of 200 and 202 tokens 200 are in every vocabulary: all is measured on these."]


def test_models_without_a_token_in_common_are_each_measured_alone() -> None:
    found = analyzed(untied("one"), untied("other", tokens=[f"word {row}" for row in range(FEW)]))
    assert [sides_of(pair)[::2] for pair in found.pairs] == [("one", "one"), ("other", "other")]
    assert len(found.matrices) == 4 and all(each.isotropy for each in found.matrices)
    assert found.notes == ["The two models are not compared: the vocabularies have no token in common."]


def test_models_whose_tokens_have_no_names_are_each_measured_alone() -> None:
    rows = normal(FEW)
    nameless = EmbeddingPair("nameless", "nameless", rows, normal(FEW, seed=1), absent={"tokens": "none was stored"})
    found = analyzed(untied(), nameless)
    assert len(found.pairs) == 2
    assert found.notes == ["The two models are not compared: the tokens of nameless have no names (none was stored)."]


def test_models_with_one_start_are_told_what_that_leaves() -> None:
    rows, start = normal(FEW), "0" * 64
    one, other = (EmbeddingPair(name, name, rows + 1, rows, ["x"] * FEW, start_hash=start) for name in "ab")
    for model in (one, other):
        model.tokens[:] = [f"token {row}" for row in range(FEW)]  # type: ignore[index]
    (note,) = analyzed(one, other).notes
    assert "started from the same input embedding" in note and "output_init: copy" in note


def test_rows_of_another_width_are_compared_by_what_needs_no_equal_widths() -> None:
    (pair,) = analyzed(planted_pair(normal(FEW), normal(FEW, 7, seed=1))).pairs
    reason = "the widths differ, 40 and 7"
    assert pair.absent == dict.fromkeys(("alignment.identity", "alignment.orthogonal", "symmetric_share"), reason)
    assert pair.alignment is not None and pair.alignment.linear is not None
    assert pair.cka is not None and pair.neighbours is not None


def test_rows_that_are_0_or_not_finite_are_left_out_and_said() -> None:
    inputs, outputs = normal(FEW), normal(FEW, seed=1)
    inputs[3], inputs[4, 1], outputs[[4, 9]] = 0, torch.nan, torch.inf
    found = analyzed(planted_pair(inputs, outputs, "broken"))
    assert {each.num_tokens for each in found.matrices} == {FEW - 3} == {found.pairs[0].num_tokens}
    assert found.notes == [
        "Of the rows of broken's input 1 are 0 and 1 are not finite; of the rows of broken's output 2 are not finite: "
        "3 tokens are left out of everything."
    ]


def test_a_matrix_of_nothing_but_zeros_has_its_reason_everywhere() -> None:
    found = analyzed(planted_pair(normal(FEW), torch.zeros(FEW, D)))
    for each in found.matrices:
        assert {*each.absent} == {"isotropy", "effective_rank", "frequency", "neighbours", "distance"}
        assert {*each.absent.values()} == {"fewer than 2 tokens are left to measure"}
    assert {*found.pairs[0].absent} == {"alignment", "cka", "neighbours", "symmetric_share"}


def test_equal_rows_are_said_and_what_they_allow_is_measured() -> None:
    (pair,) = analyzed(planted_pair(normal(FEW), torch.ones(FEW, D))).pairs
    assert pair.absent == dict.fromkeys(("alignment", "cka"), "all rows of model's output are equal")
    assert pair.symmetric_share is not None


@pytest.mark.parametrize("num_rows", [2, 11, 12])
def test_few_tokens_have_no_ten_neighbours(num_rows: int) -> None:
    found = analyzed(planted_pair(normal(num_rows, 3), normal(num_rows, 3, seed=1)))
    reason = f"10 neighbours take at least 12 tokens, and there are {num_rows}"
    assert (found.pairs[0].absent.get("neighbours") == reason) == (num_rows < 12)
    assert found.pairs[0].cka is not None and found.matrices[0].effective_rank is not None


def test_counts_that_are_not_known_leave_the_rest() -> None:
    rows = normal(FEW)
    model = EmbeddingPair("m", "m", rows, rows + 1, absent={"counts": "the run has not finished"})
    found = analyzed(model, by_frequency=True)
    assert all(each.absent["frequency"] == "the run has not finished" for each in found.matrices)
    assert all(each.by_frequency == [] for each in every(found))
    seldom = analyzed(untied(counts=torch.zeros(FEW, dtype=torch.long)))
    assert seldom.matrices[0].absent["frequency"] == "fewer than 4 of the tokens were seen in training"


def test_by_frequency_each_token_is_in_one_bin() -> None:
    found = analyzed(untied(counts=COUNTS), by_frequency=True)
    for each in every(found):
        assert [found_bin.label for found_bin in each.by_frequency] == [*BINS]
        assert sum(found_bin.num_tokens for found_bin in each.by_frequency) == FEW
        assert (
            each.by_frequency[0].num_tokens == 1
            and each.by_frequency[-1].means["norm" if each in found.matrices else "linear"] is None
        )
    pair = found.pairs[0]
    assert pair.neighbours is not None
    weighted = sum((each.means["overlap"] or 0) * each.num_tokens for each in pair.by_frequency) / FEW
    assert weighted == pytest.approx(pair.neighbours.overlap)


@pytest.mark.parametrize("name", MEASURES)
def test_only_what_is_asked_for_is_measured(name: str) -> None:
    found = analyzed(untied(counts=COUNTS), measures=frozenset({name}))
    held = {"cka": "cka", "rank": "effective_rank", "symmetry": "symmetric_share"}.get(name, name)
    for each in every(found):
        fields = {key for key in type(each).model_fields if getattr(each, key) not in (None, [], {})}
        measured = fields - {"model", "side", "num_tokens", "dim", "a", "b", "absent"}
        assert {key.removesuffix("_normal").removesuffix("_chance") for key in measured} <= {held, "hubness"}
        assert all(key.startswith(held) for key in each.absent)


def test_the_neighbours_of_chosen_tokens_stand_side_by_side_with_or_without_a_space() -> None:
    names = ["king", "Ġking", "▁king", *(f"w{row}" for row in range(FEW - 3))]
    inputs = normal(FEW)
    inputs[5] = inputs[1] * 2
    model = planted_pair(inputs, normal(FEW, seed=1), tokens=names)
    found = analyze_models([model], Asked(frozenset({"cka"})), ["king"])
    assert [(each.token, each.side) for each in found.nearest] == [
        (token, side) for token in ("Ġking", "▁king", "king") for side in ("input", "output")
    ]
    nearest = found.nearest[0].neighbours
    assert len(nearest) == 10 and nearest[0].token == "w2" and nearest[0].cosine == pytest.approx(1, abs=1e-6)
    with pytest.raises(ConfigError, match="'kin' is no token that was measured; did you mean king"):
        analyze_models([model], Asked(), ["kin"])


def test_it_says_how_far_it_is() -> None:
    class Counting(Silence):
        steps: list[float] = []  # noqa: RUF012

        @contextmanager
        def progress(self, label: str, total: float) -> Iterator[Update]:
            yield lambda done, words: self.steps.append(done / total)

    analyze_models([untied()], Asked(), talk=Counting())
    assert Counting.steps == pytest.approx([(step + 1) / 14 for step in range(14)])
