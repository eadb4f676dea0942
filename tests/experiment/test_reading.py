"""Experiments: variants and seeds out of one file, where mistakes are placed, and what makes two runs the same run."""

from pathlib import Path

import pytest

from tests.support.experiment_file import EXPERIMENT
from tiedlm.config.base import ConfigError, Raw, first_difference
from tiedlm.config.yaml_core import load_yaml
from tiedlm.experiment.config import Experiment
from tiedlm.experiment.plan import pick
from tiedlm.experiment.reading import experiment_from, is_shape, load_experiment, load_shape
from tiedlm.run.layout import Run


def experiment(*settings: str, text: str = EXPERIMENT) -> Experiment:
    return experiment_from(load_yaml(text, "file"), settings=settings)


def problems(*settings: str, text: str = EXPERIMENT) -> dict[str, str]:
    with pytest.raises(ConfigError) as caught:
        experiment(*settings, text=text)
    return {problem.key: problem.message for problem in caught.value.problems}


def single(*settings: str) -> Experiment:
    raw: Raw = load_yaml(EXPERIMENT, "file")
    del raw["seeds"], raw["variants"]
    return experiment_from(raw, settings=settings)


def test_an_experiment_is_its_variants_and_its_seeds_in_the_order_of_the_file() -> None:
    it = experiment()
    assert (it.name, it.seeds, list(it.variants), it.baseline) == ("small", (3, 1), ["tied", "untied"], "untied")
    assert {config.seed for config in it.variants.values()} == {3}
    run = it.run_config("untied", 1)
    assert (run.variant, run.seed, run.model.tying.type) == ("untied", 1, "untied")
    assert first_difference(run, it.variants["untied"]) == ("seed", 1, 3)


def test_a_file_without_variants_is_one_run_named_after_its_tying() -> None:
    it = single()
    assert (list(it.variants), it.seeds, it.baseline) == (["tied"], (0,), "tied")
    assert list(single("model.tying.type=untied").variants) == ["untied"]
    named = single("variant=mine", "seed=7")
    assert (list(named.variants), named.seeds, named.baseline) == (["mine"], (7,), "mine")


def test_what_the_base_does_to_the_vectors_of_every_tying_is_done_in_every_variant() -> None:
    """Else one arm reads vectors of another scale than the other, and nothing says so."""
    scaled = EXPERIMENT.replace("num_heads: 2}", "num_heads: 2, tying: {type: tied, input_scale: sqrt_dim}}")
    assert {config.model.tying.input_scale for config in experiment(text=scaled).variants.values()} == {"sqrt_dim"}
    wrong = scaled.replace("sqrt_dim", "-1")
    assert [*problems(text=wrong)] == ["model.tying.input_scale"], "told where it is written"


def test_a_single_run_and_that_variant_of_an_experiment_are_the_same_run() -> None:
    alone = single("seed=1", "model.tying.type=untied").variants["untied"]
    assert alone == experiment().run_config("untied", 1)


@pytest.mark.parametrize(
    ("end", "baseline"),
    [
        ("variants: {tied: {}, untied: {}}\nbaseline: tied\n", "tied"),
        ("variants: {a: {}, untied: {}}", "untied"),
        ("variants: {b: {}, a: {}}", "b"),
    ],
)
def test_the_baseline_is_named_or_untied_or_the_first(end: str, baseline: str) -> None:
    assert experiment(text=EXPERIMENT.split("variants:")[0] + end).baseline == baseline


def test_how_to_judge_is_said_at_the_top_and_belongs_to_no_run() -> None:
    plain, told = experiment(), experiment("primary=tied", "smallest_worthwhile=0.02")
    assert (plain.primary, plain.smallest_worthwhile) == (None, 0.01)
    assert (told.primary, told.smallest_worthwhile) == ("tied", 0.02)
    assert told.variants == plain.variants


def test_settings_reach_every_variant() -> None:
    it = experiment("training.steps=2", "model.dropout=0.5")
    assert {(config.training.steps, config.model.dropout) for config in it.variants.values()} == {(2, 0.5)}
    assert [config.model.tying.type for config in it.variants.values()] == ["tied", "untied"]


def test_settings_may_change_one_variant_or_the_seeds() -> None:
    it = experiment("variants.tied.training.steps=2", "seeds=[5]", "baseline=tied")
    assert [config.training.steps for config in it.variants.values()] == [2, 10]
    assert (it.seeds, it.baseline) == ((5,), "tied")


@pytest.mark.parametrize(
    ("setting", "key", "words"),
    [
        ("seeds=[]", "seeds", "at least one seed"),
        ("seeds=[1, 1]", "seeds", "1 stands there more than once"),
        ("seeds=3", "seeds", "3: must be a list"),
        ("seeds=[1, x]", "seeds.1", '"x": must be a whole number'),
        ("seeds=[4294967296]", "seeds.0", "must be below 4294967296"),
        ("primary=soft", "primary", "not one of the variants: tied, untied"),
        ("primary=untied", "primary", "is the baseline"),
        ("smallest_worthwhile=0", "smallest_worthwhile", "above 0"),
        ("smallest_worthwhile=x", "smallest_worthwhile", "number"),
        ("seed=1", "seed", "give seed or seeds, not both"),
        ("variant=tied", "variant", "belongs to a file without variants"),
        ("variants=[tied]", "variants", "must be a mapping"),
        ("variants.tied=", "variants.tied", "must be a mapping"),
        ("variants.Tied={}", "variants", "tied and Tied differ only in upper and lower case"),
        ("variants.a b={}", "variants", '"a b": must be a name'),
        ("variants={../../up: {}}", "variants", '"../../up": must be a name'),
        ("baseline=neither", "baseline", "not one of the variants: tied, untied"),
        ("variants.tied.seed=3", "variants.tied.seed", "belongs to the experiment"),
        ("variants.tied.name=x", "variants.tied.name", "belongs to the experiment"),
        ("variants.tied.extends=soft", "variants.tied.extends", "belongs to the experiment"),
        ("variants.tied.baseline=x", "variants.tied.baseline", "belongs to the experiment"),
        ("variants.tied.added={role: noise_floor, of: tied}", "variants.tied.added", "belongs to the experiment"),
        ("added={role: noise_floor, of: tied}", "added", "is set by the plan"),
        ("embedding_draw=-1", "embedding_draw", "must be at least 0"),
        ("match=flops", "match", "parameters"),
        ("name=../up", "name", "must be a name"),
    ],
)
def test_a_mistake_in_the_plan_is_named(setting: str, key: str, words: str) -> None:
    said = problems(setting)
    assert list(said) == [key]
    assert words in said[key]


def test_an_experiment_has_at_least_one_variant() -> None:
    assert problems(text=EXPERIMENT.split("variants:")[0] + "variants: {}") == {
        "variants": "must name at least one variant"
    }


def test_a_mistake_is_placed_where_it_was_written_and_told_once() -> None:
    said = problems(
        "training.batch_size=x",
        "variants.tied.data.seq_len=1",
        "variants.untied.model.tying.output_init=random",
        "variants.untied.model.tieing=1",
    )
    assert set(said) == {
        "training.batch_size",
        "variants.tied.data.seq_len",
        "variants.untied.model.tying.output_init",
        "variants.untied.model.tieing",
    }


@pytest.mark.parametrize(
    ("wrong", "right"), [("sedes", "seeds"), ("noisefloor", "noise_floor"), ("basline", "baseline"), ("tun", "tune")]
)
def test_a_misspelled_key_of_the_experiment_is_named(wrong: str, right: str) -> None:
    with pytest.raises(ConfigError) as caught:
        experiment(f"{wrong}=1")
    assert [(said.key, said.message) for said in caught.value.problems] == [
        (wrong, f"unknown key; did you mean {right}?")
    ]


def test_a_model_alone_can_be_counted_not_trained(tmp_path: Path) -> None:
    path = tmp_path / "shape.yaml"
    path.write_text("model: {num_layers: 2, dim: 16, num_heads: 2, vocab_size: 97}\n")
    assert is_shape(path)
    assert load_shape(path, ["model.dim=32"]).dim == 32
    with pytest.raises(ConfigError, match="holds a model alone"):
        load_experiment(path)


@pytest.mark.parametrize(
    "setting",
    [
        "training.device=cuda",
        "training.num_threads=1",
        "training.evaluate_every=5",
        "training.checkpoint_every=5",
        "training.keep_last=3",
        "seeds=[3, 1, 2]",
        "variants.more={}",
    ],
)
def test_what_changes_nothing_computed_strands_no_run(setting: str) -> None:
    assert first_difference(experiment().variants["tied"], experiment(setting).variants["tied"]) is None


@pytest.mark.parametrize(
    ("setting", "difference"),
    [
        ("training.learning_rate=2e-3", ("training.learning_rate", 0.001, 0.002)),
        ("variants.tied.model.tying={type: tied, init_std: 0.1}", ("model.tying.init_std", 0.02, 0.1)),
        ("data.tokenizer={type: bpe, vocab_size: 300}", ("data.tokenizer.type", "byte", "bpe")),
        ("data.seq_len=64", ("data.seq_len", 32, 64)),
        ("training.compile=false", ("training.compile", "auto", False)),
        ("evaluation.stride=16", ("evaluation.stride", None, 16)),
    ],
)
def test_what_changes_the_result_is_named_as_the_first_difference(
    setting: str, difference: tuple[str, object, object]
) -> None:
    assert first_difference(experiment().variants["tied"], experiment(setting).variants["tied"]) == difference


def test_mistakes_in_a_file_say_which_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(EXPERIMENT + "  third: {model: {dim: x}}\n")
    with pytest.raises(ConfigError) as caught:
        load_experiment(path)
    assert str(caught.value) == f'{path}: variants.third.model.dim: "x": must be a whole number'


@pytest.mark.parametrize("arm", ["tied", "untied"])
def test_the_arms_of_wikitext_103_and_their_experiment_share_runs(arm: str, tmp_path: Path) -> None:
    alone, whole = load_experiment(f"{arm}.yaml"), load_experiment("wikitext103.yaml")
    run = Run(pick(alone), tmp_path)
    assert run == Run(pick(whole, arm, run.config.seed), tmp_path)
    assert run.config.seed in whole.seeds


def test_what_is_wrong_with_a_mapping_of_all_variants_is_told_once() -> None:
    with pytest.raises(ConfigError) as caught:
        load_experiment("dial", ["model.num_heads=3"])
    (problem,) = caught.value.problems
    assert problem.key == "model" and "dim 512 is not a multiple of num_heads 3" in problem.message
    with pytest.raises(ConfigError) as caught:
        load_experiment("quickstart", ["variants.tied.model.dimm=1", "variants.untied.model.dimm=1"])
    assert [problem.key for problem in caught.value.problems] == [
        "variants.tied.model.dimm",
        "variants.untied.model.dimm",
    ]
