"""From a path to the two matrices of the model that it holds; nothing else of the weights is read."""

from pathlib import Path

import torch
from torch import Tensor

from tiedlm.config.base import ConfigError, Problem
from tiedlm.data.prepare import find_prepared
from tiedlm.embeddings.pair import EmbeddingPair, Start, UnknownStartError
from tiedlm.errors import RunError
from tiedlm.model.parameters import hash_input_table
from tiedlm.run.config import RunConfig
from tiedlm.run.folder import RunFolder
from tiedlm.run.layout import run_of_checkpoint
from tiedlm.run.row_movement import starting_tying
from tiedlm.run.stored_data import stored_tokenizer
from tiedlm.run.token_types import stored_types
from tiedlm.talk import SILENT, Talk
from tiedlm.training.checkpoint import load_part
from tiedlm.tying.base import Tying
from tiedlm.tying.build import build_tying

_PREFIX = "tying."
WHAT_IS_READ = "the folder of a run (runs/quickstart/tied/seed-0) or one checkpoint in it (.../checkpoint/step-450)"


def open_pair(path: Path, cache_dir: Path, name: str = "", talk: Talk = SILENT) -> EmbeddingPair:
    """The embeddings of the newest checkpoint of a run, or of one checkpoint.

    `cache_dir` is needed only to draw a start again that hangs on the frequencies of the text's tokens. Raises
    ConfigError where the path holds no model, RunError where no checkpoint can be read.
    """
    if any(path.glob("*.safetensors")) and (path / "config.json").is_file():
        # a folder of the transformers library: its matrices, tokenizer and tie flag make an EmbeddingPair too
        raise ConfigError(Problem("", f"{path} is a Hugging Face folder, which is not read yet: give {WHAT_IS_READ}"))
    checkpoint = run_of_checkpoint(path)
    run, step = checkpoint or (path, None)
    if not RunFolder(run).config_file.is_file():
        raise ConfigError(Problem("", f"{path} holds no model: give {WHAT_IS_READ}"))
    folder = RunFolder(run)
    loaded = load_part(folder.checkpoints, _PREFIX, talk, step)
    if loaded is None:
        which = "no valid checkpoint" if step is None else f"no valid checkpoint of step {step}"
        raise RunError("corrupt", f"{folder.checkpoints} holds {which}")
    return _of_run(path, name or str(path), folder, *loaded, cache_dir)


def _of_run(
    path: Path, name: str, folder: RunFolder, step: int, weights: dict[str, Tensor], cache_dir: Path
) -> EmbeddingPair:
    config, result = folder.config(), folder.result()
    tokens, absent = _tokens(folder, config)
    vocab_size = _vocab_size(folder, config, tokens)
    tying = _trained_tying(config, vocab_size, weights, f"{folder.checkpoints}, step {step}")
    with torch.no_grad():
        inputs, outputs = tying.input_weight(), tying.output_weight().detach()
    counts, no_counts = _counts(folder)
    hash_ = None if result is None else result.hashes.input_embedding

    def draw_start() -> Start:
        return _draw_start(folder, config, vocab_size, cache_dir, hash_)

    return EmbeddingPair(
        name=name,
        path=str(path),
        input=inputs,
        output=outputs,
        tokens=tokens,
        counts=counts,
        step=step,
        tying=config.model.tying.type,
        start_hash=hash_,
        absent={**absent, **no_counts},
        draw_start=draw_start,
    )


def _trained_tying(config: RunConfig, vocab_size: int, weights: dict[str, Tensor], place: str) -> Tying:
    """The tying with its trained values; RunError with `place` where they are those of another model."""
    tying = build_tying(config.model.tying, vocab_size, config.model.dim)
    names = {name.removeprefix(_PREFIX): tensor for name, tensor in weights.items()}
    try:
        tying.load_state_dict(names, assign=True)
    except RuntimeError as error:
        first = (str(error).splitlines()[1:] or [str(error)])[0].strip().rstrip(".")
        message = f"{place}: the weights are not those of the model in the run's config: {first}"
        raise RunError("corrupt", message) from None
    return tying.requires_grad_(False).eval()


def _vocab_size(folder: RunFolder, config: RunConfig, tokens: list[str] | None) -> int:
    """Of the stored tokenizer; of a run of an older version, which stored none, from its result or its config."""
    result = folder.result()
    known = (
        None if tokens is None else len(tokens),
        None if result is None else result.corpus.vocab_size,
        config.model.vocab_size,
    )
    found = next((size for size in known if size is not None), None)
    if found is None:
        message = (
            f"{folder.path} stores neither its tokenizer nor the size of its vocabulary; set model.vocab_size in it"
        )
        raise ConfigError(Problem("model.vocab_size", message))
    return found


def _tokens(folder: RunFolder, config: RunConfig) -> tuple[list[str] | None, dict[str, str]]:
    tokenizer = stored_tokenizer(folder, config)
    if tokenizer is None:
        return None, {"tokens": "an older version of the program stored no tokenizer with the run"}
    return tokenizer.names(), {}


def _counts(folder: RunFolder) -> tuple[Tensor | None, dict[str, str]]:
    """How often each token was a target of the whole run, whichever of its checkpoints is looked at."""
    types = stored_types(folder.vocabulary_file)
    if types is None:
        return None, {"counts": "the run has not finished, and how often it saw each token is stored at its end"}
    return torch.from_numpy(types.targets.astype("int64")), {}


def _draw_start(folder: RunFolder, config: RunConfig, vocab_size: int, cache_dir: Path, recorded: str | None) -> Start:
    tying = starting_tying(config, vocab_size, _frequencies(folder, config, cache_dir)).requires_grad_(True)
    if recorded is not None and hash_input_table(tying) != recorded:
        raise UnknownStartError(
            "its start, drawn again, is not the one that it recorded: was it another version of torch?"
        )
    with torch.no_grad():
        return Start(tying.input_weight(), tying.output_weight().detach())


def _frequencies(folder: RunFolder, config: RunConfig, cache_dir: Path) -> Tensor | None:
    """How often each token stands in the train split, where the start hangs on it. Raises UnknownStartError."""
    tying, record = config.model.tying, folder.data_record()
    if tying.init != "by_frequency" and tying.type != "partial_vocabulary":
        return None
    try:
        prepared = find_prepared(config.data, cache_dir)
    except ConfigError:  # the text is not there any more
        prepared = None
    if prepared is None or record is None or prepared.tokens_sha256 != record.tokens:
        raise UnknownStartError("its start hangs on the text's token frequencies, and its text is not in the cache")
    return torch.from_numpy(prepared.frequencies)
