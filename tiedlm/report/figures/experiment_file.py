"""The experiment's config file, written anew from the configs of its runs, to reproduce it."""

from collections.abc import Mapping
from typing import Any

from tiedlm.comparison.comparison import Comparison
from tiedlm.config.yaml_core import dump_yaml

_KEYS_OF_ONE_RUN = ("variant", "seed", "added")
_DEFAULT_EMBEDDING_DRAW = 0


def experiment_file(comparison: Comparison) -> str | None:
    """A config that plans the same runs, with every default written out; None where the configs are not known.

    Variants that the plan added are left to the plan again (`noise_floor`, `match`); tuned settings stand in it as they
    were chosen.
    """
    configs = {
        variant.name: _variant_config(variant.config) for variant in comparison.variants if variant.added is None
    }
    if not configs or not all(configs.values()):
        return None
    base = configs.get(comparison.baseline) or next(iter(configs.values()))
    roles = {variant.added.role for variant in comparison.variants if variant.added}
    seeds = {seed for variant in comparison.variants for seed in variant.seeds}
    seeds |= {run.seed for run in comparison.pending} | {run.seed for run in comparison.failures}
    head = {
        "name": base["name"],
        "seeds": sorted(seeds),
        "baseline": comparison.baseline,
        "primary": comparison.primary,
        "smallest_worthwhile": comparison.smallest_worthwhile,
        "noise_floor": True if "noise_floor" in roles else None,
        "match": "parameters" if roles & {"matched_width", "matched_depth"} else None,
    }
    return dump_yaml(
        {key: value for key, value in head.items() if value is not None}
        | {key: value for key, value in base.items() if key != "name"}
        | {"variants": {name: _changes(base, config) for name, config in configs.items()}}
    )


def package_versions(comparison: Comparison) -> dict[str, str]:
    """The packages that the runs were made with; all versions where the runs differ."""
    found: dict[str, list[str]] = {}
    for run in (run for variant in comparison.variants for run in variant.runs):
        for name, version in run.versions.items():
            found.setdefault(name, []).append(version)
    return {name: " / ".join(dict.fromkeys(values)) for name, values in found.items()}


def _variant_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """A run's config without the keys that belong to the one run."""
    is_default = config.get("embedding_draw") == _DEFAULT_EMBEDDING_DRAW
    left_out = (*_KEYS_OF_ONE_RUN, *(["embedding_draw"] if is_default else []))
    return {key: value for key, value in config.items() if key not in left_out}


def _changes(base: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, Any]:
    """What a variant changes of the base: merged into it, key by key, it gives `config`."""
    return {
        key: _changes(base[key], value) if _is_merged(base.get(key), value) else value
        for key, value in config.items()
        if key not in base or base[key] != value
    }


def _is_merged(base: object, value: object) -> bool:
    """Whether `value` is merged into `base`, as mappings are, or replaces it, as one of another `type` does."""
    return isinstance(base, Mapping) and isinstance(value, Mapping) and base.get("type") == value.get("type")
