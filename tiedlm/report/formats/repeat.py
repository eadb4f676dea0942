"""What it takes to carry out an experiment again: its file, written anew from what its runs were told."""

from collections.abc import Mapping
from typing import Any

from tiedlm.comparison.comparison import Comparison
from tiedlm.config.yaml_core import dump_yaml

_OF_ONE_RUN = ("variant", "seed", "added")
_NOT_DRAWN_ANEW = 0


def experiment_file(comparison: Comparison) -> str | None:
    """A config that plans the same runs, with every default written out; None where the configs are not known.

    What the plan added is asked for again, and settings that were found by tuning stand there as they came out.
    """
    asked = {variant.name: _told(variant.config) for variant in comparison.variants if variant.added is None}
    if not asked or not all(asked.values()):
        return None
    base = asked.get(comparison.baseline) or next(iter(asked.values()))
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
        | {"variants": {name: _beyond(base, config) for name, config in asked.items()}}
    )


def versions(comparison: Comparison) -> dict[str, str]:
    """What the runs ran with, every version where they differ."""
    found: dict[str, list[str]] = {}
    for run in (run for variant in comparison.variants for run in variant.runs):
        for name, version in run.versions.items():
            found.setdefault(name, []).append(version)
    return {name: " / ".join(dict.fromkeys(values)) for name, values in found.items()}


def _told(config: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a run's config that is its variant's."""
    drawn = config.get("embedding_draw") == _NOT_DRAWN_ANEW
    left_out = (*_OF_ONE_RUN, *(["embedding_draw"] if drawn else []))
    return {key: value for key, value in config.items() if key not in left_out}


def _beyond(base: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, Any]:
    """What a variant says beyond the base: laid over it, key by key, it gives `config`."""
    return {
        key: _beyond(base[key], value) if _laid_over(base.get(key), value) else value
        for key, value in config.items()
        if key not in base or base[key] != value
    }


def _laid_over(base: object, value: object) -> bool:
    """Whether one mapping is read as laid over the other, which one of another `type` replaces."""
    return isinstance(base, Mapping) and isinstance(value, Mapping) and base.get("type") == value.get("type")
