"""A trained run again: score a split another way, or continue a text. Nothing that is stored changes."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from tiedlm.config.base import ConfigError, Problem
from tiedlm.data.config import SPLITS, Split
from tiedlm.evaluation.absence import score_reasons
from tiedlm.evaluation.config import Windows
from tiedlm.evaluation.generate import generate
from tiedlm.evaluation.measures import bits_per_byte, nats_per_token, perplexity, word_perplexity
from tiedlm.model.config import TransformerConfig
from tiedlm.run.config import RunConfig
from tiedlm.run.result import SplitResult
from tiedlm.run.scores import score_split, split_result
from tiedlm.run.setup import open_model, open_run
from tiedlm.talk import SILENT, Talk

_TEXT_KEYS = {f"data.corpus.{name}" for name in ("file", *SPLITS)}


def evaluate_run(
    directory: Path,
    split: Split,
    *,
    cache_dir: Path,
    seq_len: int | None = None,
    stride: int | None = None,
    device: str | None = None,
    checkpoint: Literal["last", "best"] = "last",
    settings: Sequence[str] = (),
    talk: Talk = SILENT,
) -> dict[str, Any]:
    """Score a split with the newest checkpoint, or the one that validated best; what `tiedlm evaluate --json` prints.

    `settings`, `data.corpus.KEY=VALUE`, say where its text lies, should that have been moved.
    Raises ConfigError where the windows do not fit the model, RunError where there is no valid checkpoint.
    """
    with _saying_how_to_name_the_text():
        setup = open_run(directory, cache_dir, talk, device, checkpoint, settings)
    windows = _windows(setup.config, seq_len, stride)
    result = split_result(setup, split, score_split(setup, split, windows, talk), windows)
    return {
        "run": str(directory),
        "split": split,
        "checkpoint": checkpoint,
        **result.model_dump(),
        "precision": setup.machine.precision,
        **_figures(result),
        "absent": score_reasons(
            result.nll, result.tokens, result.words, result.bytes, result.words_reason, result.bytes_reason
        ),
    }


@contextmanager
def _saying_how_to_name_the_text() -> Iterator[None]:
    """Inside, an error over a key that names a text says how to name another, as of a run that was copied elsewhere."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(*map(_with_way_out, error.problems), source=error.source) from None


def _with_way_out(problem: Problem) -> Problem:
    if problem.key not in _TEXT_KEYS:
        return problem
    return Problem(problem.key, f"{problem.message}; --set {problem.key}=PATH says where it lies now")


def _windows(config: RunConfig, seq_len: int | None, stride: int | None) -> Windows:
    """The windows asked for; raises ConfigError where they do not fit the model, or leave tokens out."""
    model = config.model
    for key, given in (("--seq-len", seq_len), ("--stride", stride)):
        if given is not None and model.carries_state:
            raise ConfigError(Problem(key, f"{given}: this model carries its state through the text, without windows"))
    windows = config.windows(seq_len, stride)
    length, limit = windows.seq_len, model.max_seq_len or config.max_seq_len
    if isinstance(model, TransformerConfig) and model.positions == "learned" and length > limit:
        raise ConfigError(Problem("--seq-len", f"{length}: the model has learned positions up to {limit}"))
    if windows.stride > length:
        message = f"{windows.stride} is above the window of {length}: tokens would be left out"
        raise ConfigError(Problem("--stride", message))
    return windows


def _figures(result: SplitResult) -> dict[str, float | None]:
    """What people read, from the sums of a split."""
    return {
        "nats_per_token": nats_per_token(result.nll, result.tokens),
        "token_perplexity": perplexity(result.nll, result.tokens),
        "word_perplexity": word_perplexity(result.nll, result.words, result.bytes),
        "bits_per_byte": bits_per_byte(result.nll, result.bytes),
        "unigram_perplexity": perplexity(result.unigram_nll, result.tokens),
    }


def generate_text(
    directory: Path,
    prompt: str,
    *,
    cache_dir: Path,
    num_tokens: int,
    temperature: float = 0.8,
    top_k: int | None = None,
    seed: int = 0,
    device: str | None = None,
    talk: Talk = SILENT,
) -> str:
    """What the newest checkpoint writes after `prompt`, which stands after an end of text.

    Raises ConfigError where the prompt is no text (bytes of a shell's argument that are not in its encoding), where the
    temperature is not finite, and where `top_k` is more than there are types.
    """
    if not math.isfinite(temperature):
        raise ConfigError(Problem("--temperature", f"{temperature}: must be a finite number"))
    if any("\ud800" <= symbol <= "\udfff" for symbol in prompt):
        raise ConfigError(Problem("--prompt", "holds bytes that are no text in this terminal's encoding"))
    trained = open_model(directory, cache_dir, talk, device)
    tokenizer, config = trained.tokenizer, trained.config
    if top_k is not None and top_k > tokenizer.vocab_size:
        raise ConfigError(Problem("--top-k", f"{top_k:,}: the model knows {tokenizer.vocab_size:,} types"))
    ids = [tokenizer.end_of_text, *tokenizer.encode(prompt)]
    new = generate(
        trained.model,
        ids,
        num_tokens=num_tokens,
        max_context=None if config.model.carries_state else config.max_seq_len,
        temperature=temperature,
        top_k=top_k,
        seed=seed,
    )
    return tokenizer.decode(list(new))
