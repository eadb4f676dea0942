"""What `count-params` prints."""

import io

import pytest
from rich.console import Console

from tests.support.finished_runs import parameters
from tiedlm.report.commands.count_params import render_counts

MODELS = [
    {"name": f"gpt2 {tying}", "tying": tying, **parameters(tying).model_dump(mode="json")}
    for tying in ("tied", "untied")
]


@pytest.mark.parametrize("width", [24, 40, 80])
def test_counts_stand_whole_and_say_what_tying_saves(width: int) -> None:
    stream = io.StringIO()
    render_counts(MODELS, Console(file=stream, width=width))
    text = stream.getvalue()
    for number in ("124,439,808", "163,037,184", "38,597,376", "85,054,464", "85,056,000", "741,857,280", "23.7 %"):
        assert any(number in line for line in text.splitlines())
    assert "output bias" not in text
    assert "Tying saves 38,597,376 parameters: gpt2 tied has 23.7 % fewer than gpt2 untied." in " ".join(text.split())


def test_several_ways_to_untie_share_one_line_of_saving() -> None:
    stream = io.StringIO()
    render_counts([*MODELS, {**MODELS[1], "name": "copy"}], Console(file=stream, width=120))
    assert stream.getvalue().count("saves") == 1
    assert "fewer than gpt2 untied and copy." in stream.getvalue()


def test_counts_of_unrelated_models_claim_no_saving() -> None:
    stream = io.StringIO()
    other = {**MODELS[1], "non_embedding": 1}
    render_counts([MODELS[0], other], Console(file=stream, width=80))
    assert "saves" not in stream.getvalue()
