"""The total probability that a model gives to groups of tokens, rare ones say, whatever the target is.

A model that gives rare tokens more probability everywhere scores them better without predicting better when they
occur. The total probability of the group tells the two apart.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from tiedlm.model.language_model import LanguageModel
from tiedlm.model.state import State

Window = tuple[int, int, int]
"""Its first position in the text, the first that it scores, and its end."""


class GroupMass:
    """Adds up the probability of each group by document.

    `group` (V,) is the group of each token, below `num_groups`; `document` (N,) the document of each position of the
    text. `sums` (num_documents, num_groups) are float64; each position adds 1 in total to its document's row.
    """

    def __init__(self, group: npt.NDArray[np.integer], num_groups: int, document: npt.NDArray[np.integer]) -> None:
        self._document = document
        self._membership = F.one_hot(torch.from_numpy(group.astype(np.int64)), num_groups).float()  # (V, G)
        self.sums = np.zeros((int(document.max(initial=-1)) + 1, num_groups))

    def score(
        self, model: LanguageModel, ids: Tensor, targets: Tensor, windows: Sequence[Window], state: State | None = None
    ) -> Tensor:
        """nll (B, T) as `token_nll` gives it; the probabilities at the positions that `windows` (B) score are added."""
        self._membership = self._membership.to(ids.device)
        nll, mass = model.token_nll_and_mass(ids, targets, self._membership, state)
        for row, (start, scored_from, end) in zip(mass.cpu().numpy(), windows, strict=True):
            np.add.at(self.sums, self._document[scored_from:end], row[scored_from - start : end - start])
        return nll
