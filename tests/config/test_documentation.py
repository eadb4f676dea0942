"""Every key of a config is documented once, below its field, and the text is found where the source is."""

from pathlib import Path

from pydantic import BaseModel

from tiedlm.config.base import Config
from tiedlm.config.documentation import field_texts
from tiedlm.config.json_schema import models_below, texts_of
from tiedlm.experiment.file_schema import FILE_MODELS, file_keys
from tiedlm.model.config import ShapeConfig
from tiedlm.tying.config import SoftConfig

ROOT = Path(__file__).parent.parent.parent


class Documented(Config):
    """A model for this test."""

    first: int
    """The text of it,
    on two lines."""
    second: int = 1


def test_the_text_is_the_string_below_the_field() -> None:
    texts = field_texts(Documented)
    assert {name: text.text for name, text in texts.items()} == {"first": "The text of it, on two lines."}
    line = (Path(__file__).read_text().splitlines())[texts["first"].line - 1]
    assert line == "    first: int"


def test_what_a_class_inherits_keeps_its_text() -> None:
    texts = field_texts(SoftConfig)
    assert {"init_std", "output_init", "strength"} <= texts.keys()
    assert texts["init_std"].line < texts["strength"].line


def test_no_key_lacks_a_text() -> None:
    tops: list[type[BaseModel]] = [*FILE_MODELS, ShapeConfig]
    texts = texts_of(*tops)
    models = {model for top in tops for model in models_below(top)}
    assert len(models) > 20
    lacking = [f"{model.__name__}.{name}" for model in models for name in {*model.model_fields} - {*texts[model]}]
    assert lacking == [], "each needs a text in triple quotes below it"


def test_a_text_is_a_sentence_and_no_two_keys_of_a_mapping_share_one() -> None:
    keys = file_keys()
    assert [key.path for key in keys if not key.text.text.endswith((".", "?"))] == []
    told = [(key.path.rpartition(".")[0], key.text.text) for key in keys if key.owner]
    assert len({*told}) == len(told)


def test_a_source_names_the_line_of_the_field() -> None:
    for key in file_keys():
        line = (ROOT / key.text.file).read_text(encoding="utf-8").splitlines()[key.text.line - 1]
        assert line.startswith(f"    {key.path.rpartition('.')[2]}: "), key.path
