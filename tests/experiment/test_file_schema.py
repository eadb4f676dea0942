"""The JSON Schema of config files: the stored one is the generated one, and it takes what tiedlm takes."""

import json
import re
from pathlib import Path

import pytest
from jsonschema import Draft7Validator

from tiedlm.config.file import read_text
from tiedlm.config.find import SCHEMA_FILE, packaged_configs, packaged_schema
from tiedlm.config.yaml_core import dump_yaml, load_yaml
from tiedlm.experiment.file_schema import file_schema, schema_text
from tiedlm.experiment.reading import load_experiment

ROOT = Path(__file__).parent.parent.parent
VALIDATOR = Draft7Validator(file_schema())
RUN = """
name: small
data: {corpus: {type: python-docs}, tokenizer: {type: byte}, seq_len: 32}
model: {num_layers: 2, dim: 16, num_heads: 2}
training: {steps: 10, batch_size: 4, learning_rate: 1e-3}
"""


def mistakes_in(text: str) -> list[str]:
    return [
        ".".join(map(str, error.absolute_path)) + f": {error.message}"
        for error in VALIDATOR.iter_errors(load_yaml(text, "test"))
    ]


def examples() -> list[tuple[str, str]]:
    """The blocks of YAML in the README and the pages; a piece of a file stands for one that extends another."""
    found = []
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for number, block in enumerate(re.findall(r"```yaml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)):
            found.append((f"{page.name}-{number}", block))
    return found


def test_the_stored_schema_is_the_generated_one() -> None:
    stored = packaged_schema().read_text(encoding="utf-8")
    assert stored == schema_text(), f"make it anew: tiedlm configs schema > configs/{SCHEMA_FILE}"
    Draft7Validator.check_schema(json.loads(schema_text()))


@pytest.mark.parametrize("name", packaged_configs())
def test_every_packaged_config_is_valid_and_names_the_schema(name: str) -> None:
    path = packaged_configs()[name]
    assert mistakes_in(read_text(path)) == []
    first = read_text(path).splitlines()[0]
    place = first.removeprefix("# yaml-language-server: $schema=")
    assert place != first
    assert (path.parent / place).resolve() == packaged_schema().resolve()


@pytest.mark.parametrize(("place", "block"), examples(), ids=[place for place, _ in examples()])
def test_every_example_of_the_pages_is_valid(place: str, block: str) -> None:
    held = load_yaml(block, place)
    assert mistakes_in(block if {"name", "extends"} & held.keys() else f"extends: quickstart\n{block}") == []


@pytest.mark.parametrize("name", ["quickstart", "soft", "progressive", "press-wolf-small", "dial"])
def test_the_config_of_a_run_as_it_is_stored_is_valid(name: str) -> None:
    for variant in load_experiment(name).variants.values():
        assert mistakes_in(dump_yaml(variant.model_dump(mode="json"))) == []


@pytest.mark.parametrize(
    "text",
    [
        RUN,
        "model: {num_layers: 2, dim: 16, num_heads: 2, vocab_size: 100}",
        "extends: quickstart\nmodel: {tying: {strength: 1}}",
        "extends: quickstart\ntraining: {steps: 1e3, betas: [0.9, 0.99], warmup: 0.1}",
        "extends: quickstart\nvariants: {a: {}, b: {model: {tying: {type: soft}}}}",
        "extends: quickstart\ntune: {grid: {training.learning_rate: [1e-3], model: {dropout: [0, 0.1]}}, seeds: [7]}",
        "extends: quickstart\ntune: {method: random, space: {training.learning_rate: {low: 1, high: 2, log: true}},"
        " variants: {untied: {training.output_learning_rate_factor: [1, sqrt_dim]}}, trials: 4, seeds: [7]}",
        "extends: tuned\ntune: null",
        "extends: quickstart\nmodel: {layer_sharing: {cycle: 2}, rope_scaling: null}",
        "extends: quickstart\nevaluation: {stride: 16}\nnoise_floor: true\nmatch: parameters\nprimary: null",
        RUN + "seed: 3",
    ],
)
def test_what_is_right_passes(text: str) -> None:
    assert mistakes_in(text) == []


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("extends: q\ntraining: {lr: 1}", "training", "'lr' was unexpected"),
        ("extends: q\nlearning_rate: 1", "", "'learning_rate' was unexpected"),
        ("extends: q\nmodel: {tying: {type: tied, strength: 1}}", "model.tying", "'strength' was unexpected"),
        ("extends: q\nmodel: {tying: {type: tide}}", "model.tying.type", "'tide' is not one of"),
        ("extends: q\nmodel: {tying: {strenght: 1}}", "model.tying", "'strenght' was unexpected"),
        ("extends: q\nmodel: {type: lstm, num_heads: 2}", "model", "'num_heads' was unexpected"),
        ("extends: q\nvariants: {a: {seeds: [1]}}", "variants.a", "'seeds' was unexpected"),
        ("extends: q\nvariants: {a: {model: {dim: wide}}}", "variants.a.model.dim", "'wide'"),
        ("extends: q\nvariants: {a/b: {}}", "variants", "does not match"),
        ("extends: q\nvariants: [a]", "variants", "is not of type 'object'"),
        ("extends: q\nseeds: 3", "seeds", "is not of type 'array'"),
        ("extends: q\nseeds: [-1]", "seeds.0", "less than the minimum"),
        ("extends: q\ntraining: {batch_size: 0}", "training.batch_size", "minimum of 0"),
        ("extends: q\ntraining: {batch_size: null}", "training.batch_size", "None is not of type"),
        ("extends: q\ntraining: {device: gpu}", "training.device", "does not match"),
        ("extends: q\ntraining: {betas: [0.9]}", "training.betas", "is too short"),
        ("extends: q\ntraining: {warmup: 10%}", "training.warmup", "not valid under any"),
        ("extends: q\ntraining: {precision: bfloat16}", "training.precision", "is not one of"),
        ("extends: q\ntune: {grid: {training.steps: [1, 2]}, seeds: [1]}", "tune", "not valid under any"),
        ("extends: q\ntune: {grid: {training.learning_rate: [x]}, seeds: [1]}", "tune", "not valid under any"),
        ("extends: q\nmatch: width", "match", "is not one of"),
        (RUN.replace("dim: 16, ", ""), "model", "'dim' is a required property"),
        (RUN.replace("type: byte", "type: bpe"), "data.tokenizer", "'vocab_size' is a required property"),
        (RUN.replace("name: small\n", ""), "", "'name' is a required property"),
        (RUN.replace(", learning_rate: 1e-3", ""), "training", "'learning_rate' is a required property"),
        ("variants: {a: {}}", "", "'name' is a required property"),
    ],
)
def test_what_is_wrong_fails_where_it_stands(text: str, place: str, words: str) -> None:
    mistakes = mistakes_in(text)
    assert [mistake for mistake in mistakes if mistake.startswith(f"{place}: ") and words in mistake], mistakes


def test_a_number_with_underscores_is_one_to_an_editor_which_reads_it_as_text() -> None:
    held = load_yaml(RUN, "test")
    held["training"] = {"tokens": "1_000_000", "batch_size": 4, "learning_rate": "1_0.5e-3"}
    assert [*VALIDATOR.iter_errors(held)] == []
    for wrong in ("many", "1000", "1_000.5"):
        held["training"]["tokens"] = wrong
        assert [error.json_path for error in VALIDATOR.iter_errors(held)] == ["$.training.tokens"]
