"""Runs that are measured and never carried out whole: their ids are made up, their text is not read."""

from collections.abc import Mapping

from tiedlm.run.config import RunConfig


def made_up_run(tying: str, seq_len: int, model: Mapping[str, object], training: Mapping[str, object]) -> RunConfig:
    """A run of a transformer with one way of tying; `model` and `training` are keys of the config's two parts."""
    return RunConfig.model_validate(
        {
            "name": "made-up",
            "variant": tying,
            "seed": 0,
            "data": {"corpus": {"type": "python-docs"}, "tokenizer": {"type": "byte"}, "seq_len": seq_len},
            "model": {"type": "transformer", **model, "tying": {"type": tying}},
            "training": dict(training),
        }
    )
