"""Statistics of each token of the vocabulary in a run's training: evaluation/vocabulary.npz. Free of torch.

How often it was seen, what kind of text it is a piece of, and how far its rows moved.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tiedlm.errors import RunError
from tiedlm.files import atomic_path

if TYPE_CHECKING:
    import numpy as np

VOCABULARY_FILE = "vocabulary.npz"
_EDGES = (1, 10, 100, 1_000, 10_000)
BINS = ("0", "1-9", "10-99", "100-999", "1k-9.9k", "10k+")
"""By how often a token was a target of the batches that a run consumed; one seen twice counts twice."""
SIDES = ("input", "output")


def bins_of(counts: "np.ndarray") -> "np.ndarray":
    """The index into BINS of each count."""
    import numpy as np

    found: np.ndarray = np.digitize(counts, _EDGES).astype(np.uint8)
    return found


@dataclass(frozen=True)
class TokenTypes:
    """The vocabulary of a run, one entry a token (type): each array is (V,).

    `targets` and `inputs` count how often it was one in the batches of training. `shapes` are those of
    tiedlm/data/kinds; None where the tokenizer does not show them. `moved` holds for each of SIDES |end - start| /
    |start| of every row, NaN where it started at 0.
    """

    targets: "np.ndarray"
    inputs: "np.ndarray"
    end_of_text: int
    moved: dict[str, "np.ndarray"]
    shapes: "np.ndarray | None" = None

    @cached_property
    def bins(self) -> "np.ndarray":
        """The index into BINS of each type, as a target."""
        return bins_of(self.targets)

    @cached_property
    def bins_seen(self) -> "np.ndarray":
        """The index into BINS of each type, as a target or as an input, whichever it was more often."""
        import numpy as np

        return bins_of(np.maximum(self.targets, self.inputs))

    def save(self, path: Path) -> None:
        """Write the file, completely or not at all; raises RunError("disk")."""
        import numpy as np

        arrays: dict[str, Any] = {"targets": self.targets, "inputs": self.inputs, "end_of_text": self.end_of_text}
        arrays |= {f"{side}_moved": moved.astype(np.float32) for side, moved in self.moved.items()}
        arrays |= {"edges": _EDGES} | ({} if self.shapes is None else {"shapes": self.shapes})
        with atomic_path(path) as partial, partial.open("wb") as file:
            np.savez_compressed(file, **arrays)

    @classmethod
    def load(cls, path: Path) -> Self:
        """What `save` wrote; raises OSError, ValueError, KeyError or BadZipFile where it is not that."""
        import numpy as np

        with np.load(path) as stored:
            if tuple(stored["edges"].tolist()) != _EDGES:
                raise ValueError("other bins")
            return cls(
                targets=stored["targets"],
                inputs=stored["inputs"],
                end_of_text=int(stored["end_of_text"]),
                moved={side: stored[f"{side}_moved"] for side in SIDES},
                shapes=stored.get("shapes"),
            )


def stored_types(file: Path) -> TokenTypes | None:
    """What a run that has finished left; None where it has not. Raises RunError("corrupt") that names the file."""
    from zipfile import BadZipFile

    if not file.is_file():
        return None
    try:
        return TokenTypes.load(file)
    except (OSError, ValueError, KeyError, BadZipFile) as error:
        raise RunError("corrupt", f"{file} cannot be read ({error})") from error
