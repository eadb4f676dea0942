"""The experiments that started the subject: counts as published, and the recipe in this project's own units."""

import math
from pathlib import Path

import pytest

from tests.support.small_runs import carry_out
from tiedlm.data.config import TextCorpus
from tiedlm.experiment.config import Experiment
from tiedlm.experiment.plan import pick
from tiedlm.experiment.reading import load_experiment
from tiedlm.forecast.counts import count_model
from tiedlm.model.config import LstmConfig
from tiedlm.run.layout import Run
from tiedlm.training.schedule import Schedule

TRAIN_TOKENS = 929_589
"""Of the treebank as Mikolov prepared it, an end of line a row among them."""
SMALL = {"untied": 4_651_600, "tied": 2_651_600, "projected": 2_691_600}
LARGE = {"untied": 66_022_000, "tied": 51_022_000}


def counts(experiment: Experiment, **changes: str) -> dict[str, int]:
    models = {name: config.model.model_copy(update=changes) for name, config in experiment.variants.items()}
    return {name: count_model(model, 10_000, 20, 20).total for name, model in models.items()}


@pytest.mark.parametrize(("name", "published"), [("press-wolf-small", SMALL), ("press-wolf-large", LARGE)])
def test_counts_are_the_published_ones_to_the_last_parameter(name: str, published: dict[str, int]) -> None:
    """4.65M and 2.65M, 66M and 51M in the paper; torch's second bias vector is another 4 x dim a layer."""
    experiment = load_experiment(name)
    assert counts(experiment) == published
    dim = experiment.variants["tied"].model.dim
    double = {variant: total + 2 * 4 * dim for variant, total in published.items()}
    assert counts(experiment, recurrent_bias="double") == double


@pytest.mark.parametrize(
    ("name", "epochs", "kept", "decay", "norm"),
    [("press-wolf-small", 13, 4, 2.0, 5.0), ("press-wolf-large", 55, 14, 1.15, 10.0)],
)
def test_the_recipe_is_theirs_in_units_of_the_mean(
    name: str, epochs: int, kept: int, decay: float, norm: float
) -> None:
    """Theirs adds the losses of a window's T positions up: a gradient of T times the size, a rate of 1 / T for it."""
    config = load_experiment(name).variants["tied"]
    training, seq_len = config.training, config.data.seq_len
    steps_an_epoch = math.ceil(math.ceil(TRAIN_TOKENS / training.batch_size) / seq_len)
    num_steps = training.num_steps(seq_len, steps_an_epoch * training.batch_size)
    assert num_steps == epochs * steps_an_epoch and training.evaluate_every == steps_an_epoch
    rate = Schedule(training, num_steps)
    for epoch in range(epochs):
        theirs = decay ** -max(epoch + 1 - kept, 0)
        for step in (epoch * steps_an_epoch, (epoch + 1) * steps_an_epoch - 1):
            assert rate(step) / seq_len == pytest.approx(theirs, rel=1e-4), f"epoch {epoch + 1}"
    assert training.max_grad_norm is not None
    assert training.max_grad_norm * seq_len == pytest.approx(norm, rel=1e-5)
    assert (training.optimizer, training.momentum, training.weight_decay) == ("sgd", 0.0, 0.0)


@pytest.mark.parametrize(("name", "bound"), [("press-wolf-small", 0.1), ("press-wolf-large", 0.04)])
def test_every_matrix_starts_with_the_spread_of_their_uniform_start(name: str, bound: float) -> None:
    for config in load_experiment(name).variants.values():
        assert isinstance(config.model, LstmConfig) and isinstance(config.data.corpus, TextCorpus)
        for std in (config.model.init_std, config.model.tying.init_std):
            assert std == pytest.approx(bound / 3**0.5, rel=1e-3)


def test_it_runs_on_a_text_that_the_user_points_at(tmp_path: Path) -> None:
    text = "".join(f" the <unk> rose N points to {number % 7} \n" for number in range(400))
    for split, ending in (("train", ""), ("validation", " the rose \n"), ("test", " N points \n")):
        (tmp_path / f"{split}.txt").write_text(text + ending, encoding="utf-8")
    files = ", ".join(f"{split}: {tmp_path}/{split}.txt" for split in ("train", "validation", "test"))
    corpus = f"data.corpus={{type: text, {files}, documents: lines}}"
    small = ["model.dim=16", "model.hidden_dim=16", "model.vocab_size=null", "training.epochs=1", "training.device=cpu"]
    experiment = load_experiment("press-wolf-small", [corpus, *small])
    result = carry_out(Run(pick(experiment, "projected"), tmp_path / "runs"))
    assert result.corpus.vocab_size == 14, "<eos>, <unk>, the, rose, N, points, to, 0 to 6 and nothing else"
    assert result.tokens_seen == 400 * 8 and result.splits["test"].tokens == 400 * 8 + 3, "with an end of line a row"
    assert result.last_loss < result.first_loss
