"""Config models: every mistake at once, under the key where it was written, in words that say what to write instead."""

from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import Field

from tiedlm.config.base import (
    Config,
    ConfigError,
    Execution,
    Name,
    Raw,
    execution_keys,
    first_difference,
    merge,
    parse,
    semantic,
)
from tiedlm.config.file import apply_settings
from tiedlm.config.merge import COMMON_KEYS
from tiedlm.config.yaml_core import dump_yaml, load_yaml
from tiedlm.experiment.reading import load_experiment
from tiedlm.model.config import TransformerConfig
from tiedlm.run.config import RunConfig
from tiedlm.tying.config import EmbeddingConfig

RUN = """
name: small
variant: tied
data: {corpus: {type: python-docs}, tokenizer: {type: byte}, seq_len: 32}
model: {num_layers: 2, dim: 16, num_heads: 2}
training: {steps: 10, batch_size: 4, learning_rate: 1e-3}
"""


def problems_with(*settings: str) -> dict[str, str]:
    """What is said of a small run once `settings` are laid over it, by key."""
    raw = apply_settings(load_yaml(RUN, "run"), list(settings))
    with pytest.raises(ConfigError) as caught:
        parse(RunConfig, raw)
    said = {problem.key: problem.message for problem in caught.value.problems}
    assert len(said) == len(caught.value.problems), "one problem for each key"
    return said


def accepted(*settings: str) -> RunConfig:
    return parse(RunConfig, apply_settings(load_yaml(RUN, "run"), list(settings)))


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("training.warmup=2.5", "2.5: must be a whole number or below 1"),
        ("training.warmup=-1", "-1: must be at least 0"),
        ("training.warmup=soon", '"soon": must be a number of steps (a whole number, as 200) or a fraction of the run'),
        (
            "training.warmup=10%",
            '"10%": must be a number of steps (a whole number, as 200) or a fraction of the run below 1 (as 0.1); '
            "10% is 0.1",
        ),
        ("model.dropout=10%", '"10%": must be a number; 10% is 0.1'),
        ("training.learning_rate='3e-4'", '"3e-4": must be a number; write it without quotes'),
        ("training.device=gpu", '"gpu": must be auto, cpu, cuda or cuda:N (N: the number of a GPU); cuda is what'),
        ("training.device=cuda:x", '"cuda:x": must be auto, cpu, cuda or cuda:N'),
        ("training.device=mps", '"mps": must be auto, cpu, cuda or cuda:N (N: the number of a GPU)'),
        ("training.micro_batch_size=no", "\"no\": must be a whole number or 'auto'"),
        ("training.compile=maybe", "\"maybe\": must be 'auto' or true or false"),
        ("training.compile={a: 1}", "{\"a\": 1}: must be 'auto' or true or false"),
        ("training.batch_size=true", "true: must be a whole number"),
        ("training.batch_size=1.5", "1.5: must be a whole number"),
        ("training.batch_size=", "null: must be a whole number"),
        ("training.learning_rate=.inf", "Infinity: must be a finite number"),
        ("training.betas=3", "3: must be a list"),
        ("training.precision=bf32", "\"bf32\": must be 'auto', 'fp32', 'bf16' or 'fp16'"),
        ("model.tying={type: tied, input_scale: -1}", "-1: must be above 0 or 'sqrt_dim'"),
        ("model.tying=off", '"off": must be a mapping with type: tied, untied, soft'),
        ("model.rope_scaling=3", "3: must be a mapping with type: linear or llama3"),
        ("data=3", "3: must be a mapping of keys to values"),
        ("name=a/b", '"a/b": must be a name of letters, digits and . _ + = @ -'),
        ("training.schedule=" + "x" * 500, '"' + "x" * 56 + "..."),
    ],
)
def test_a_value_is_shown_with_what_it_must_be(setting: str, message: str) -> None:
    ((key, said),) = problems_with(setting).items()
    written = setting.partition("=")[0]
    assert key == ("model.tying.input_scale" if "input_scale" in setting else written)
    assert said.startswith(message)


@pytest.mark.parametrize(
    ("setting", "key", "message"),
    [
        ("training.learningrate=1", "training.learningrate", "unknown key; did you mean training.learning_rate?"),
        ("learning_rate=1", "learning_rate", "unknown key; did you mean training.learning_rate?"),
        ("model.tie=true", "model.tie", "unknown key; write model.tying: {type: tied}"),
        ("model.tieing={type: tied}", "model.tieing", "unknown key; did you mean model.tying?"),
        (
            "data.tokenizer.vocab_size=9",
            "data.tokenizer.vocab_size",
            "unknown key of this type; data.tokenizer.type: bpe",
        ),
        ("model.hidden_dim=9", "model.hidden_dim", "unknown key of this type; model.type: lstm has it"),
        ("training.carry_state=true", "training.carry_state", "unknown key; did you mean model.carry_state?"),
        ("training.foo=1", "training.foo", "unknown key; known here: "),
        ("data.zzzzzz=1", "data.zzzzzz", "unknown key; known here: corpus, seq_len, tokenizer"),
        ("model.tying={type: tied, output_init: copy}", "model.tying.output_init", "unknown key of this type"),
    ],
)
def test_an_unknown_key_names_the_nearest_right_one(setting: str, key: str, message: str) -> None:
    said = problems_with(setting)
    assert list(said) == [key]
    assert said[key].startswith(message)


def test_a_missing_key_is_named_in_full() -> None:
    raw = load_yaml(RUN, "run")
    del raw["training"]["batch_size"], raw["model"]["dim"], raw["data"]
    with pytest.raises(ConfigError) as caught:
        parse(RunConfig, raw, source="f.yaml")
    assert str(caught.value).splitlines() == [
        "f.yaml: data: is required",
        "f.yaml: model.dim: is required",
        "f.yaml: training.batch_size: is required",
    ]


def test_all_mistakes_are_told_at_once() -> None:
    said = problems_with(
        "data.corpus.type=wiki",
        "data.seq_len=1",
        "model.dim=15",
        "model.norm=batch",
        "training.betas=[0.9, 2]",
        "training.decay=x",
        "extra=1",
    )
    assert set(said) == {
        "data.corpus.type",
        "data.seq_len",
        "model",
        "model.norm",
        "training.betas.1",
        "training.decay",
        "extra",
    }


def test_thousands_of_mistakes_are_counted() -> None:
    raw = {**load_yaml(RUN, "run"), **{f"key{index}": index for index in range(2000)}}
    with pytest.raises(ConfigError) as caught:
        parse(RunConfig, raw)
    assert len(caught.value.problems) == 31
    assert str(caught.value.problems[-1]) == "and 1,970 more mistakes"


@pytest.mark.parametrize(
    ("settings", "keys"),
    [
        (["model.dim=x"], {"model.dim"}),
        (["model.dim=0"], {"model.dim"}),
        (["model.num_heads=0"], {"model.num_heads"}),
        (["model.num_heads=x", "model.dim=y"], {"model.num_heads", "model.dim"}),
        (["model.dim=15"], {"model"}),
        (["model.head_dim=7.5"], {"model.head_dim"}),
        (["model.dim=" + "9" * 400], {"model.dim"}),
        (["model.tying.type=3"], {"model.tying.type"}),
    ],
)
def test_one_mistake_in_the_width_is_one_problem(settings: list[str], keys: set[str]) -> None:
    assert set(problems_with(*settings)) == keys


@pytest.mark.parametrize(
    ("settings", "key", "words"),
    [
        (["model.dim=1e15"], "model.dim", "must be at most 1048576"),
        (["model.num_layers=1e17"], "model.num_layers", "must be at most 10000"),
        (["data.tokenizer={type: bpe, vocab_size: 1e9}"], "data.tokenizer.vocab_size", "must be at most 16777216"),
        (["training.batch_size=1e18"], "training.batch_size", "must be at most 16777216"),
        (["training.num_threads=1e6"], "training.num_threads", "must be at most 1024"),
        (["training.warmup=1.0"], "training.warmup", "write 1 for one step"),
        (["training.tokens=100"], "training", "give one of steps, tokens, epochs"),
        (["training.steps="], "training", "given: none"),
        (["training.warmup=10"], "training", "warmup of 10 steps does not fit into 10"),
        (["training.micro_batch_size=8"], "training", "micro_batch_size is above batch_size"),
        (["training.min_learning_rate=1"], "training", "min_learning_rate is above learning_rate"),
        (["training.momentum=0.9"], "training", "momentum means nothing to optimizer: adamw"),
        (["training.decay=0.1"], "training", "decay means nothing to schedule: cosine"),
        (
            ["model.num_heads=3"],
            "model",
            "dim 16 is not a multiple of num_heads 3: change one of them, or give head_dim",
        ),
        (["model.num_heads=4", "model.num_kv_heads=3"], "model", "num_heads 4 is not a multiple of num_kv_heads 3"),
        (["model.dim=18", "model.positions=rope", "model.head_dim=9"], "model", "rope needs an even head_dim, not 9"),
        (
            ["data.corpus={type: text, train: a, validation: b, test: c, fractions: [0.8, 0.1, 0.1]}"],
            "data.corpus",
            "fractions cut `file`",
        ),
        (["data.corpus={type: text, train: a}"], "data.corpus", "give train, validation and test, or file alone"),
        (["model.max_seq_len=16"], "", "seq_len 32 is above model.max_seq_len 16"),
        (["evaluation.stride=64"], "", "evaluation.stride 64 is above its seq_len 32"),
    ],
)
def test_values_that_do_not_go_together_are_named_together(settings: list[str], key: str, words: str) -> None:
    said = problems_with(*settings)
    assert list(said) == [key]
    assert words in said[key]


@pytest.mark.parametrize(
    "name", ["a/b", "..", ".hidden", "", "a b", "a\n", "[red]x", "é", "x" * 101, "a\\b", "-flag", "~"]
)
def test_a_name_cannot_leave_its_folder_or_look_like_anything_else(name: str) -> None:
    class Named(Config):
        name: Name

    with pytest.raises(ConfigError) as caught:
        parse(Named, {"name": name})
    assert [problem.key for problem in caught.value.problems] == ["name"]
    assert parse(Named, {"name": "soft-0.1_a+b=c@d"}).name == "soft-0.1_a+b=c@d"


def test_whole_numbers_may_be_written_as_floats() -> None:
    config = accepted("training.steps=1e3", "model.max_seq_len=1_024")
    assert (config.training.steps, config.model.max_seq_len) == (1000, 1024)


def test_c01_a_learning_rate_of_1e_4_is_a_number(tmp_path: Path) -> None:
    config = accepted("training.learning_rate=1e-4")
    assert config.training.learning_rate == 0.0001
    resolved = load_yaml(dump_yaml(config.model_dump(mode="json")), "resolved")
    assert resolved["training"]["learning_rate"] == 0.0001
    assert parse(RunConfig, resolved) == config
    for wrong in ("fast", "12:30"):
        said = problems_with(f"training.learning_rate={wrong}")
        assert said == {"training.learning_rate": f'"{wrong}": must be a number'}


@pytest.mark.parametrize("written", ["no", '"false"', "off", "false", "none", "[]", "0", "~", "Tied", "'tied '"])
def test_c03_what_is_no_tying_is_never_tied(written: str) -> None:
    said = problems_with(f"model.tying={written}")
    assert list(said) == ["model.tying"]
    assert "type: tied, untied, soft" in said["model.tying"]
    said = problems_with(f"model.tying.type={written}")
    assert list(said) == ["model.tying.type"]
    assert ": must be tied, untied, soft" in said["model.tying.type"]
    assert said["model.tying.type"].count("untied") == 1  # transformers and recurrent models choose among the same


def test_c05_a_config_with_a_bom_crlf_and_a_non_ascii_comment_loads(tmp_path: Path) -> None:
    text = RUN.replace("variant: tied\n", "variant: tied  # ē\n").replace("\n", "\r\n")
    path = tmp_path / "windows.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert load_experiment(path).variants["tied"] == accepted()


def test_a_mapping_that_names_a_type_replaces_the_other_whole() -> None:
    base: Raw = {"tying": {"type": "untied", "output_init": "copy"}, "data": {"seq_len": 1, "corpus": {"type": "x"}}}
    assert merge(base, {"tying": {"type": "tied"}})["tying"] == {"type": "tied"}
    assert merge(base, {"tying": {"init_std": 1}})["tying"] == {"type": "untied", "output_init": "copy", "init_std": 1}
    assert merge(base, {"data": {"seq_len": 2}})["data"] == {"seq_len": 2, "corpus": {"type": "x"}}
    assert merge(base, {"tying": None})["tying"] is None
    assert base["tying"] == {"type": "untied", "output_init": "copy"}, "neither is changed"


def test_keys_that_every_type_has_stay_where_another_type_is_laid_over_them() -> None:
    base: Raw = {"tying": {"type": "untied", "output_init": "copy", "input_scale": 2.0, "init_std": 0.1}}
    over: Raw = {"tying": {"type": "tied", "init_std": 0.3}}
    assert merge(base, over)["tying"] == {"type": "tied", "input_scale": 2.0, "init_std": 0.3}
    other: Raw = {"corpus": {"type": "text", "init_std": 1}}
    assert merge(other, {"corpus": {"type": "x"}})["corpus"] == {"type": "x"}, "of a tying alone"
    assert {*COMMON_KEYS["tying"]} == {*EmbeddingConfig.model_fields}


def test_identity_is_every_key_but_those_that_say_how_a_run_is_carried_out() -> None:
    class Inner(Config):
        width: int = 1

    class Outer(Config):
        inner: Inner = Inner()
        threads: Annotated[int, Execution()] = 1

    assert semantic(Outer()) == {"inner.width": 1}
    assert first_difference(Outer(), Outer(threads=2)) is None
    assert first_difference(Outer(), Outer(inner=Inner(width=2), threads=2)) == ("inner.width", 1, 2)


def test_keys_of_execution_are_found_in_every_model_that_a_config_may_hold() -> None:
    class One(Config):
        type: Literal["one"] = "one"
        speed: Annotated[int, Execution()] = 1

    class Other(Config):
        type: Literal["other"] = "other"
        width: int = 1

    class Outer(Config):
        held: Annotated[One | Other, Field(discriminator="type")] = One()
        maybe: Annotated[One | None, Field()] = None
        note: Annotated[str | None, Execution()] = None

    assert list(execution_keys(Outer)) == ["held.speed", "maybe.speed", "note"]
    assert not {*execution_keys(RunConfig)} & semantic(load_experiment("quickstart").variants["tied"]).keys()


def test_a_config_is_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        accepted().training.steps = 3


@pytest.mark.parametrize("dim", ["64", "64.0", "6.4e1"])
def test_a_whole_number_is_one_however_it_is_written(dim: str) -> None:
    """What is filled in from the width hangs on its value, not on its spelling."""
    from tiedlm.experiment.reading import load_experiment

    model = load_experiment("quickstart", [f"model.dim={dim}", "model.num_heads=4.0"]).variants["tied"].model
    assert isinstance(model, TransformerConfig)
    assert (model.dim, model.head_dim, model.feed_forward_dim, model.num_kv_heads) == (64, 16, 256, 4)
