"""The recipe of some runs in a phrase, which no other recipe has: a verdict holds under its own. Free of torch."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from tiedlm.comparison.settings import flat_settings, names_file, says_what
from tiedlm.run.result import RunResult

_TYING = "model.tying."
_NAMED_OTHERWISE = {
    *(f"training.{key}" for key in ("steps", "tokens", "epochs", "precision", "compile", "head", "micro_batch_size")),
    *("model.dim", "model.vocab_size", "model.tying.type", "embedding_draw"),
}
"""Keys that say nothing of the recipe, or that the other conditions name as they came out."""
_NUM_DIGITS = 6

Settings = Mapping[str, Any]
"""A resolved config by dotted keys."""


def recipe_in_words(runs: Sequence[RunResult]) -> str:
    """ "adamw at 0.002, 8 x 128 tokens a step, 0.92 epochs, 0.32 and 0.5 tokens per parameter, recipe 3fa2c1".

    What the variants do not have in common is named with them. The last digits are of a hash of every setting, also of
    those that are not spelled out. Runs that the plan added to another variant count only where there are no others.
    """
    of_file = [run for run in runs if not run.config.get("added")] or runs
    first = {run.variant: run for run in reversed(of_file)}
    first = {variant: first[variant] for variant in dict.fromkeys(run.variant for run in of_file)}
    settings = {variant: flat_settings(run.config) for variant, run in first.items()}
    said = [*_rates(settings), *_treatment(settings), *_lengths(of_file)]
    return ", ".join([*said, f"recipe {_digits([run.config for run in first.values()])}"])


def _rates(settings: Mapping[str, Settings]) -> Iterator[str]:
    yield _told(settings, _optimizer)
    if all({"training.batch_size", "data.seq_len"} <= flat.keys() for flat in settings.values()):
        step = _told(settings, lambda flat: f"{flat['training.batch_size']} x {flat['data.seq_len']}")
        yield f"{step} tokens a step"


def _optimizer(flat: Settings) -> str:
    """ "adamw at 0.0006 to 6e-05"; the end of the schedule where it is not 0."""
    rate, end = flat.get("training.learning_rate"), flat.get("training.min_learning_rate")
    falls_to = f" to {end:g}" if end else ""
    return f"{flat.get('training.optimizer', 'adamw')} at {rate:g}{falls_to}" if rate is not None else "unknown rate"


def _treatment(settings: Mapping[str, Settings]) -> Iterator[str]:
    """What is done to the embeddings, where it is not what is done by default."""

    def value_of(key: str, default: Any) -> Callable[[Settings], str]:
        return lambda flat: value_in_words(flat.get(key, default))

    for key, label in (
        ("training.embedding_learning_rate_factor", "rate of the embeddings x {}"),
        (f"{_TYING}input_scale", "input scale {}"),
    ):
        values = {flat.get(key, 1.0) for flat in settings.values()}
        if values != {1.0}:
            yield label.format(_told(settings, value_of(key, 1.0)))
    yield from _other_treatment(settings)


def _other_treatment(settings: Mapping[str, Settings]) -> Iterator[str]:
    """The other keys of the tying, beside those of a kind of it, with the variants that do not have the default."""
    from tiedlm.tying.config import SeparateOutputConfig

    for name, field in SeparateOutputConfig.model_fields.items():
        having = {variant: flat[_TYING + name] for variant, flat in settings.items() if _TYING + name in flat}
        variants_of: dict[str, list[str]] = {}
        for variant, value in having.items():
            if value != field.get_default() and name != "input_scale":
                variants_of.setdefault(value_in_words(value), []).append(variant)
        for value, variants in variants_of.items():
            yield f"{name} {value}" + ("" if len(variants) == len(having) else f" ({', '.join(variants)})")


def _lengths(runs: Sequence[RunResult]) -> Iterator[str]:
    """Epochs and tokens per parameter, each over all runs."""
    epochs = [run.tokens_seen / run.train_tokens for run in runs if run.train_tokens]
    if epochs:
        passes = _span([f"{each:.2g}" if each < 100 else f"{each:.0f}" for each in epochs])
        yield f"{passes} epoch{'' if passes == '1' else 's'}"
    per_parameter = [run.tokens_seen / run.parameters.total for run in runs if run.parameters.total]
    if per_parameter:
        yield f"{_span([f'{each:.2g}' for each in per_parameter])} tokens per parameter"


def _span(values: Sequence[str]) -> str:
    """ "0.3 and 0.5"; of more than two the smallest and the largest."""
    different = list(dict.fromkeys(values))
    if len(different) < 3:
        return " and ".join(different)
    return " to ".join((min(different, key=float), max(different, key=float)))


def _told(settings: Mapping[str, Settings], value: Callable[[Settings], str]) -> str:
    """A value once where all variants have it, else each with those that do."""
    names: dict[str, list[str]] = {}
    for variant, flat in settings.items():
        names.setdefault(value(flat), []).append(variant)
    if len(names) == 1:
        return next(iter(names))
    return " and ".join(f"{said} ({', '.join(variants)})" for said, variants in names.items())


def value_in_words(value: Any) -> str:
    """Of a setting: 0.002, sqrt_dim, true."""
    if isinstance(value, float):
        return f"{value:g}"
    return value if isinstance(value, str) else json.dumps(value)


def _digits(configs: Sequence[Mapping[str, Any]]) -> str:
    """The first digits of a hash of every setting of the body, of training and of scoring; not of the kind of tying."""
    different = sorted({json.dumps(_settings(config), sort_keys=True) for config in configs})
    return hashlib.sha256("\n".join(different).encode()).hexdigest()[:_NUM_DIGITS]


def _settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """What is at its default is left out, so that a key added in another version changes nothing."""
    return {
        key: value
        for key, value in flat_settings(_without_defaults(config)).items()
        if says_what(key) and not names_file(key) and key not in _NAMED_OTHERWISE and not key.startswith("data.corpus.")
    }


def _without_defaults(config: Mapping[str, Any]) -> Mapping[str, Any]:
    from tiedlm.run.config import RunConfig

    try:
        parsed: dict[str, Any] = RunConfig.model_validate(config).model_dump(mode="json", exclude_defaults=True)
    except ValidationError:  # of another version
        return config
    return parsed
