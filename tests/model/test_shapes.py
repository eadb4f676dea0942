"""Published shapes, counted to the last parameter without allocating one."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from tiedlm.config.find import packaged_configs
from tiedlm.experiment.reading import is_shape, load_shape
from tiedlm.model.config import ModelConfig, TransformerConfig
from tiedlm.model.counts import ParameterCounts
from tiedlm.model.language_model import build_model
from tiedlm.model.parameters import count_parameters

PUBLISHED = {
    "gpt2": (124_439_808, 124_439_808 + 38_597_376),
    "gpt2-medium": (354_823_168, 354_823_168 + 51_463_168),
    "gpt2-large": (774_030_080, 774_030_080 + 64_328_960),
    "gpt2-xl": (1_557_611_200, 1_557_611_200 + 80_411_200),
    "llama-3.2-1b": (1_235_814_400, 1_498_482_688),
    "qwen2.5-0.5b": (494_032_768, 630_167_424),
    "smollm2-135m": (134_515_008, 162_826_560),
    "tinyllama-1.1b": (1_034_512_384, 1_100_048_384),
}
SHAPES = sorted(name for name in packaged_configs() if name.startswith("shapes/"))


def count(config: ModelConfig) -> ParameterCounts:
    assert config.vocab_size is not None and config.max_seq_len is not None
    with torch.device("meta"):
        model = build_model(config, config.vocab_size, config.max_seq_len)
    assert all(parameter.is_meta for parameter in model.parameters())
    return count_parameters(model, seq_len=1024)


def test_every_shape_that_comes_along_is_counted_here() -> None:
    assert sorted(f"shapes/{name}.yaml" for name in PUBLISHED) == SHAPES


@pytest.mark.parametrize("name", PUBLISHED)
def test_counts_are_the_published_ones(name: str) -> None:
    file = f"shapes/{name}.yaml"
    assert is_shape(packaged_configs()[file])
    tied, untied = (load_shape(file, [f"model.tying.type={tying}"]) for tying in ("tied", "untied"))
    assert (count(tied).total, count(untied).total) == PUBLISHED[name]
    assert tied.vocab_size is not None
    assert count(untied).total - count(tied).total == tied.vocab_size * tied.dim


@pytest.mark.parametrize("name", PUBLISHED)
def test_shapes_are_tied_as_their_authors_tied_them(name: str) -> None:
    assert load_shape(f"shapes/{name}.yaml").tying.type == ("untied" if name == "tinyllama-1.1b" else "tied")


def test_counts_are_those_of_baevski_and_auli() -> None:
    """Their BPE model of WikiText-103: published as 235.7M shared and 270M not."""
    raw: dict[str, Any] = {"num_layers": 16, "dim": 1024, "num_heads": 16, "feed_forward_dim": 4096}
    raw |= {"positions": "sinusoidal", "activation": "relu", "bias": True, "vocab_size": 33_337, "max_seq_len": 512}
    tied, untied = (
        count(TransformerConfig.model_validate({**raw, "tying": {"type": name}})).total for name in ("tied", "untied")
    )
    assert (tied, untied) == (235_678_720, 269_815_808)


COUNT_AND_PEAK = """
import sys
from cli.main import main
code = main(["count-params", *sys.argv[1:], "--json"])
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
sys.exit(code or f"{peak.split()[1]}")
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak resident size is read from /proc")
def test_n01_published_shapes_are_counted_in_half_a_minute_and_a_gigabyte() -> None:
    """1.6 billion fp32 parameters would be 6.2 GB: none of them is allocated."""
    names, began = ("gpt2", "llama-3.2-1b", "gpt2-xl"), time.monotonic()
    command = [sys.executable, "-c", COUNT_AND_PEAK, *names]
    done = subprocess.run(command, cwd=Path(__file__).parent.parent.parent, capture_output=True, text=True)
    totals = [model["total"] for model in json.loads(done.stdout)["models"]]
    assert totals == [total for name in names for total in PUBLISHED[name]]
    assert (
        totals[:4] == [124_439_808, 163_037_184, 1_235_814_400, 1_498_482_688] and totals[1] - totals[0] == 38_597_376
    )
    assert int(done.stderr) < 1_000_000, "KiB"
    assert time.monotonic() - began < 30
