"""The one module that training calls, and so the one that is wrapped."""

from torch import Tensor, nn

from tiedlm.model.language_model import LanguageModel
from tiedlm.model.state import State
from tiedlm.training.precision import Machine


class TrainingStep(nn.Module):
    """A model with its objective. Data parallelism hooks `forward`, so everything goes through it."""

    def __init__(self, model: LanguageModel, machine: Machine) -> None:
        super().__init__()
        self.model = model
        self.machine = machine

    def forward(
        self, ids: Tensor, targets: Tensor, num_targets: int, num_micro_batches: int, state: State | None = None
    ) -> tuple[Tensor, Tensor]:
        """ids, targets (B, T) of one micro-batch -> its share of the loss, and its nll without gradient, both ().

        `num_targets` counts the scored targets of the global batch, so that micro-batches weigh by tokens and not
        each alike; the shares of all micro-batches add up to the loss, in which the penalty stands once. A recurrent
        body goes on from `state` and leaves its own in it.
        """
        penalty = self.model.tying.penalty()  # first: its way back comes last, when the activations are gone
        with self.machine.autocast():
            nll = self.model.nll(ids, targets, state)
        loss = nll / num_targets
        if penalty is not None:
            loss = loss + penalty / num_micro_batches
        return loss, nll.detach()
