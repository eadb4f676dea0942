"""A fresh draw of the embeddings alone, and what it says of a difference."""

import math
from pathlib import Path

import pytest
from small_runs import carry_out, small_config

from tiedlm.config import ConfigError
from tiedlm.experiment.config import Experiment
from tiedlm.experiment.pairing import pair
from tiedlm.experiment.plan import pick, place
from tiedlm.experiment.reading import load_experiment
from tiedlm.experiment.whole import whole


def whole_of(folder: Path, *settings: str) -> Experiment:
    return whole(load_experiment(small_config(folder), list(settings)), folder / "runs", folder / "cache")


def test_the_baseline_drawn_anew_joins_the_plan_last_where_it_is_asked_for(tmp_path: Path) -> None:
    asked = load_experiment(small_config(tmp_path), ["noise_floor=true", "baseline=tied"])
    experiment = whole_of(tmp_path, "noise_floor=true", "baseline=tied")
    assert list(whole_of(tmp_path).variants) == ["tied", "untied"]
    assert list(experiment.variants) == ["tied", "untied", "tied+redrawn"]
    assert list(experiment.asked) == list(asked.variants)
    redrawn = experiment.variants["tied+redrawn"]
    assert redrawn.added is not None
    assert (redrawn.added.role, redrawn.added.of, redrawn.embedding_draw) == ("noise_floor", "tied", 1)
    back = {"variant": "tied", "embedding_draw": 0, "added": None}
    assert redrawn.model_copy(update=back) == experiment.variants["tied"], "and nothing else differs"
    assert whole(experiment, tmp_path / "runs", tmp_path / "cache") == experiment


@pytest.mark.parametrize("taken", ["untied+redrawn", "Untied+Redrawn"])
def test_a_name_that_the_file_gives_itself_is_refused(tmp_path: Path, taken: str) -> None:
    line = f"variants:\n  {taken}: {{model: {{tying: {{type: tied}}}}}}\n"
    small_config(tmp_path, "variants:\n", line)
    experiment = load_experiment(tmp_path / "small.yaml", ["noise_floor=true"])
    with pytest.raises(ConfigError, match="give yours another") as error:
        whole(experiment, tmp_path / "runs", tmp_path / "cache")
    assert error.value.problems[0].key == f"variants.{taken}"


def test_a_name_with_no_room_for_what_is_added_is_refused(tmp_path: Path) -> None:
    name = "u" * 95
    small_config(tmp_path, "  untied:", f"  {name}:")
    experiment = load_experiment(tmp_path / "small.yaml", ["noise_floor=true", f"baseline={name}"])
    with pytest.raises(ConfigError, match="at most 100 characters"):
        whole(experiment, tmp_path / "runs", tmp_path / "cache")


@pytest.mark.parametrize("baseline", ["tied", "untied"])
def test_only_the_embeddings_start_from_other_values(tmp_path: Path, baseline: str) -> None:
    experiment = whole_of(tmp_path, "noise_floor=true", f"baseline={baseline}", "model.dropout=0.1")
    names = (baseline, f"{baseline}+redrawn")
    plain, redrawn = (carry_out(place(pick(experiment, name), tmp_path / "runs")) for name in names)
    assert redrawn.hashes.input_embedding != plain.hashes.input_embedding
    for name in ("body", "batches", "corpus", "tokens"):
        assert getattr(redrawn.hashes, name) == getattr(plain.hashes, name), name
    assert redrawn.first_loss != plain.first_loss
    assert abs(redrawn.first_loss - math.log(257)) < 0.3
    found = pair(redrawn, plain)
    assert (found.level, found.reasons) == ("batches", ["the input embedding started from other values"])
