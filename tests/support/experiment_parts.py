"""The small experiment under recipes, or at budgets."""

from pathlib import Path

from tests.support.small_runs import small_config
from tiedlm.experiment.parts import Parts, load_plan

RECIPES = """
seeds: [0, 1]
recipes:
  default: {}
  high: {training: {learning_rate: 4e-3}}
  scaled: {model: {tying: {input_scale: sqrt_dim}}, variants: {tied: {training: {learning_rate: 5e-4}}}}
"""


def parts_of(folder: Path, keys: str = RECIPES, *settings: str) -> Parts:
    """The parts of the small experiment with more keys in its file; settings as on the command line."""
    path = small_config(folder)
    path.write_text(path.read_text(encoding="utf-8") + keys, encoding="utf-8")
    loaded = load_plan(path, list(settings))
    assert isinstance(loaded, Parts)
    return loaded
