"""How equal two runs were: what a difference between them can be put down to. Free of torch."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from tiedlm.config.base import Config
from tiedlm.run.result import Effective, RunResult

Level = Literal["start+batches", "batches", "none"]
_LEVELS: tuple[Level, ...] = ("none", "batches", "start+batches")  # weakest first
_EQUAL = "the body, the input embedding and every batch were equal to the last bit"


class Pairing(Config):
    """`start+batches`: same start, same batches, same machine; `batches`: another start; `none`: not a pair."""

    level: Level
    reasons: list[str]


def pair_by_seed(variant: Sequence[RunResult], baseline: Sequence[RunResult]) -> list[tuple[RunResult, RunResult]]:
    """The runs of two variants with the seeds that both have finished, in the order of the first."""
    by_seed = {run.seed: run for run in baseline}
    return [(run, by_seed[run.seed]) for run in variant if run.seed in by_seed]


def pair(variant: RunResult, baseline: RunResult) -> Pairing:
    """The pairing of two runs with the same seed."""
    broken = [*_machine_differences(variant, baseline), *_text_difference(variant, baseline)]
    if broken:
        return Pairing(level="none", reasons=broken)
    other_start = list(_start_differences(variant, baseline))
    if other_start:
        return Pairing(level="batches", reasons=other_start)
    return Pairing(level="start+batches", reasons=[_EQUAL])


def pair_seeds(pairs: Sequence[tuple[RunResult, RunResult]]) -> Pairing:
    """The pairing of (variant, baseline) runs over their common seeds: the weakest one counts and is named."""
    if not pairs:
        return Pairing(level="none", reasons=["no seed has finished in both"])
    pairings = {variant.seed: pair(variant, baseline) for variant, baseline in pairs}
    weakest = min((pairing.level for pairing in pairings.values()), key=_LEVELS.index)
    seeds_of: dict[str, list[int]] = {}
    for seed, pairing in pairings.items():
        if pairing.level == weakest:
            for reason in pairing.reasons:
                seeds_of.setdefault(reason, []).append(seed)
    reasons = [
        reason if len(seeds) == len(pairings) else f"{_named(seeds)}: {reason}" for reason, seeds in seeds_of.items()
    ]
    return Pairing(level=weakest, reasons=reasons)


def _named(seeds: list[int]) -> str:
    return f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"


_SETTINGS = ("precision", "compile", "head", "micro-batch size")
"""Of what a run was computed with, that which its config asks for."""


def differences_beside_recipe(variant: RunResult, baseline: RunResult) -> list[str]:
    """What tells two runs of different recipes apart that no recipe asks for: text, windows, device, versions."""
    broken = list(_machine_differences(variant, baseline, without=_SETTINGS))
    mine, theirs = variant.hashes, baseline.hashes
    return broken if (mine.corpus, mine.tokens) == (theirs.corpus, theirs.tokens) else [*broken, "the text differs"]


def _machine_differences(variant: RunResult, baseline: RunResult, without: Sequence[str] = ()) -> Iterator[str]:
    mine, theirs = machine_of(variant), machine_of(baseline)
    for what in mine | theirs:
        if mine.get(what) != theirs.get(what) and what not in without:
            yield f"{what} differs: {mine.get(what)} against {theirs.get(what)}"
    if all(map(_draws_on_embedding_path, (variant, baseline))):
        streams = [run.effective.embedding_stream for run in (variant, baseline)]
        if streams[0] != streams[1]:  # by an older version: then the body's dropout masks differ too
            yield f"the random stream of embedding noise and dropout differs: {streams[0]} against {streams[1]}"
    for split in [name for name in variant.splits if name in baseline.splits]:
        one, other = variant.splits[split], baseline.splits[split]
        if (one.seq_len, one.stride) != (other.seq_len, other.stride):
            yield (
                f"{split} was scored in other windows: {one.seq_len} tokens every {one.stride} "
                f"against {other.seq_len} every {other.stride}"
            )


def _draws_on_embedding_path(run: RunResult) -> bool:
    tying = run.config.get("model", {}).get("tying", {})
    return any(tying.get(key) for key in ("embedding_noise", "embedding_dropout"))


def machine_of(run: RunResult) -> dict[str, str]:
    """What a run was computed with and rounds by, in words; the name of the host is no part of it."""
    return machine_in_words(run.effective, run.versions, run.config)


def machine_in_words(effective: Effective, versions: dict[str, str], config: dict[str, Any]) -> dict[str, str]:
    """The same from what was stored of a run."""
    kind = effective.device.partition(":")[0]  # cuda:0 and cuda:1 of one model count as equal
    machine = {
        "device": f"{kind} ({effective.device_name})",
        "precision": effective.precision,
        "compile": "on" if effective.compile else "off",
        "head": effective.head,
        "micro-batch size": str(effective.micro_batch_size),
        "torch version": versions.get("torch", "unknown"),
        "tiedlm's arithmetic": "unknown" if effective.arithmetic is None else str(effective.arithmetic),
    }
    if config.get("data", {}).get("corpus", {}).get("type") == "python-docs":
        machine["Python version (its text is the corpus)"] = versions.get("python", "unknown")
    return machine


def _text_difference(variant: RunResult, baseline: RunResult) -> Iterator[str]:
    """The first thing that differs on the way from the corpus to the batches; what follows differs because of it."""
    if variant.hashes.corpus != baseline.hashes.corpus:
        yield f"the corpus differs: {variant.corpus.caption} against {baseline.corpus.caption}, or another text of it"
    elif variant.hashes.tokens != baseline.hashes.tokens:
        yield f"the tokens differ: {tokens_in_words(variant)} against {tokens_in_words(baseline)}"
    elif variant.tokens_seen != baseline.tokens_seen:
        yield f"the length of training differs: {variant.tokens_seen:,} tokens against {baseline.tokens_seen:,}"
    elif variant.hashes.batches != baseline.hashes.batches:
        yield "the batches differ"


def tokens_in_words(run: RunResult) -> str:
    """The tokenizer, with the hash of the tokens that it cut the text into."""
    return f"{run.corpus.tokenizer} ({run.hashes.tokens[:8]})"


def _model_differences(variant: RunResult, baseline: RunResult) -> list[str]:
    """The keys of the model, tying aside, in which the two differ though their parameters may not."""
    mine, theirs = variant.config.get("model", {}), baseline.config.get("model", {})
    return [key for key in dict.fromkeys([*mine, *theirs]) if key != "tying" and mine.get(key) != theirs.get(key)]


def _start_differences(variant: RunResult, baseline: RunResult) -> Iterator[str]:
    mine, theirs = variant.hashes, baseline.hashes
    if variant.parameters.parts.get("body") != baseline.parameters.parts.get("body"):
        yield "the body has another size"
    elif mine.body != theirs.body:
        yield "the body started from other values"
    else:
        for key in _model_differences(variant, baseline):
            yield f"model.{key} differs: equal values, but another function of them"
    if mine.input_embedding is None or theirs.input_embedding is None:
        yield "the start of the input embedding cannot be compared"
    elif mine.input_embedding != theirs.input_embedding:
        yield "the input embedding started from other values"
