"""`tiedlm.load_run`: config, figures, model, tokenizer and embeddings of a run. Free of torch until a model is used."""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tiedlm.api.arguments import check_not_negative, check_one_of, check_seed, check_whole
from tiedlm.api.messages import python_names
from tiedlm.api.settings import Overrides, as_path, as_settings, cache_folder
from tiedlm.data.config import SPLITS
from tiedlm.run.folder import RunFolder
from tiedlm.talk import SILENT, Talk

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from tiedlm.comparison.variant_summary import VariantSummary
    from tiedlm.data.tokenizer import Tokenizer
    from tiedlm.model.language_model import LanguageModel
    from tiedlm.run.config import RunConfig
    from tiedlm.run.result import RunResult
    from tiedlm.run.setup import TrainedModel


class EmbeddingPair(NamedTuple):
    """The two matrices of a trained model as numpy arrays: V vocabulary, D model width, E output width.

    `input` (V, D) fp32: a row for each token, before any input scale or norm; of a factorized table its product with
    the map to D. `output` (V, E) fp32: the rows that score the next token. E is D, but for a factorized table its
    width: the model maps its hidden state to E first. `counts` (V,) int64: how often each token was a target
    in training; None where the run has not finished.
    """

    input: "npt.NDArray[np.float32]"
    output: "npt.NDArray[np.float32]"
    counts: "npt.NDArray[np.int64] | None"


class TrainedRun:
    """A run's folder, opened. What takes time is loaded on first use; only `evaluate` needs the text of the run."""

    def __init__(
        self, path: Path, *, device: str | None = None, cache_dir: Path | None = None, progress: bool = False
    ) -> None:
        self.path = path
        self._folder = RunFolder(path)
        self._device = device
        self._cache_dir = cache_folder(cache_dir)
        self._talk: Talk = Talk() if progress else SILENT
        self.config: RunConfig = self._folder.made_with()

    @cached_property
    def result(self) -> "RunResult | None":
        """What result.json holds: sums, counts, hashes, settings in effect; None where the run has not finished."""
        return self._folder.result()

    @cached_property
    def figures(self) -> "VariantSummary | None":
        """The figures from these sums: perplexities, parameters, memory, speed; None where it has not finished."""
        from tiedlm.comparison.summarize import summarize_one_run

        return None if self.result is None else summarize_one_run(self.result).variants[0]

    @property
    def model(self) -> "LanguageModel":
        """The model of the newest checkpoint, in evaluation mode. Raises RunError where no checkpoint is valid."""
        return self._trained.model

    @property
    def tokenizer(self) -> "Tokenizer":
        """`encode(text)` to ids, `decode(ids)` to text, `vocab_size`, `end_of_text`, `spellings()`."""
        return self._trained.tokenizer

    @python_names()
    def embeddings(self) -> EmbeddingPair:
        """The input and the output embedding, and how often each token was seen."""
        import torch

        tying = self.model.tying
        with torch.no_grad():
            inputs, outputs = (
                matrix.float().cpu().numpy().copy() for matrix in (tying.input_weight(), tying.output_weight())
            )
        return EmbeddingPair(inputs, outputs, self._counts())

    def _counts(self) -> "npt.NDArray[np.int64] | None":
        from tiedlm.run.token_types import stored_types

        types = stored_types(self._folder.vocabulary_file)
        return None if types is None else types.targets

    @python_names()
    def generate(
        self,
        prompt: str = "",
        *,
        num_tokens: int = 100,
        temperature: float = 0.8,
        top_k: int | None = None,
        seed: int = 0,
    ) -> str:
        """What the model writes after `prompt`; the same seed gives the same text. Raises ConfigError."""
        check_whole("num_tokens", num_tokens, 1)
        check_whole("top_k", top_k, 1)
        check_not_negative("temperature", temperature)
        check_seed(seed)
        from tiedlm.run.reopen import generate_text

        return generate_text(
            self.path,
            prompt,
            num_tokens=num_tokens,
            temperature=temperature,
            top_k=top_k,
            seed=seed,
            cache_dir=self._cache_dir,
            device=self._device,
            talk=self._talk,
        )

    @python_names()
    def evaluate(
        self,
        split: Literal["train", "validation", "test"] = "validation",
        *,
        seq_len: int | None = None,
        stride: int | None = None,
        checkpoint: Literal["last", "best"] = "last",
        overrides: Overrides = None,
    ) -> dict[str, Any]:
        """Score a split again, as `tiedlm evaluate --json` prints it; nothing stored changes.

        `overrides`, as in {"data.corpus.file": path}, say where its text lies now. Raises ConfigError.
        """
        check_one_of("split", split, SPLITS)
        check_one_of("checkpoint", checkpoint, ("last", "best"))
        check_whole("seq_len", seq_len, 1)
        check_whole("stride", stride, 1)
        from tiedlm.run.reopen import evaluate_run

        return evaluate_run(
            self.path,
            split,
            seq_len=seq_len,
            stride=stride,
            checkpoint=checkpoint,
            settings=as_settings(overrides),
            cache_dir=self._cache_dir,
            device=self._device,
            talk=self._talk,
        )

    @cached_property
    @python_names()
    def _trained(self) -> "TrainedModel":
        from tiedlm.run.setup import open_model

        trained = open_model(self.path, self._cache_dir, self._talk, self._device)
        trained.model.eval()
        return trained

    @property
    def _name(self) -> str:
        names = (self.config.part, self.config.variant, f"seed {self.config.seed}")
        return f"{self.config.name}: {', '.join(name for name in names if name is not None)}"

    def __repr__(self) -> str:
        return f"<tiedlm.TrainedRun {self._name}{'' if self.result else ', not finished'}>"

    def _repr_html_(self) -> str | None:
        if self.result is None:
            return None
        from tiedlm.comparison.summarize import summarize_one_run
        from tiedlm.report.formats.notebook import run_fragment

        return run_fragment(summarize_one_run(self.result), self._name)


@python_names()
def load_run(
    path: str | Path, *, device: str | None = None, cache_dir: str | Path | None = None, progress: bool = False
) -> TrainedRun:
    """The run in a folder, as in runs/quickstart/tied/seed-0.

    `device` is where its model goes, by default that of its config. `progress` on stderr. Raises ConfigError where the
    folder holds no run.
    """
    return TrainedRun(as_path(path), device=device, cache_dir=cache_folder(cache_dir), progress=progress)
