"""What the rest of the program asks of a strategy besides vectors and scores. Most strategies leave it as it is."""

from torch import nn


class Bookkeeping(nn.Module):
    """Stages of a run, parameters that are idle, and what does not follow from the parameters alone."""

    @property
    def stages(self) -> tuple[float, ...]:
        """The fractions of the run from which on a step may do something else, in order, the first of them 0."""
        return (0.0,)

    def idle_now(self) -> list[nn.Parameter]:
        """Parameters that this stage of the run does not use: they get no gradient, so no update."""
        return []

    def idle_at_inference(self) -> list[nn.Parameter]:
        """Parameters that training needs and a trained model does not."""
        return []

    def forward_flops_per_token(self) -> int:
        """FLOPs of one token in the strategy's own maps in the forward pass; those of the scores are not counted."""
        return 0

    def num_input_only(self) -> int:
        """Number of entries of partly shared matrices that only the input side uses."""
        return 0
