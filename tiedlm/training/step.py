"""The one module that training calls, and so the one that is wrapped."""

from torch import Tensor, nn

from tiedlm.model.language_model import LanguageModel
from tiedlm.model.state import State
from tiedlm.training.config import TrainingConfig
from tiedlm.training.precision import Machine


class TrainingStep(nn.Module):
    """A model with its objective. Data parallelism hooks `forward`, so everything goes through it."""

    def __init__(
        self, model: LanguageModel, machine: Machine, z_loss: float = 0.0, *, all_scores_at_once: bool = False
    ) -> None:
        super().__init__()
        self.model = model
        self.machine = machine
        self.z_loss = z_loss
        self.all_scores_at_once = all_scores_at_once

    def forward(
        self,
        ids: Tensor,
        targets: Tensor,
        num_targets: int,
        num_micro_batches: int,
        state: State | None = None,
        output_weight: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """ids, targets (B, T) of one micro-batch -> its share of the loss, and its nll without gradient, both ().

        `num_targets` counts the scored targets of the global batch, so that micro-batches weigh by tokens and not
        each alike; the shares of all micro-batches add up to the loss, in which the penalty stands once and the z-loss
        as a mean over the same targets. A recurrent body goes on from `state` and leaves its own in it. An
        `output_weight` is what the head reads in place of the tying's own.
        """
        penalty = self.model.tying.penalty()  # first: its way back comes last, when the activations are gone
        with self.machine.autocast():
            loss, nll = self.model.objective(
                ids,
                targets,
                state,
                z_loss=self.z_loss,
                divisor=num_targets,
                output_weight=output_weight,
                all_scores_at_once=self.all_scores_at_once,
            )
        if penalty is not None:
            loss = loss + penalty / num_micro_batches
        return loss, nll


def build_step(model: LanguageModel, machine: Machine, config: TrainingConfig) -> TrainingStep:
    """The step that the recipe describes."""
    return TrainingStep(model, machine, config.z_loss, all_scores_at_once=config.effective_head == "full")
