"""How often the verdicts and intervals of an experiment with recipes are wrong: called by `bench_recipes`.

All in units of the standard deviation of one run's loss from seed to seed, and in percent of simulated experiments.

Best against best: two variants that are equal at their own best recipes. A winner is named: `named` by tiedlm, `plain`
by the same t-test without the error of the choice, `same` where the seeds that choose judge too. `finds`: how often a
variant that is better by 3 is found. `means`: recipes have the same means for both variants, or each its own with an
equal best; `apart` is their standard deviation, `alike` the correlation of the two variants' losses under one recipe
and seed, `ratio` the spread of the second variant over that of the first.

Across recipes: how often an interval holds the truth. `mean`: of the mean. `next`: the prediction holds what the same
seeds show under one more recipe; `true`: its true difference. `H`: that of Higgins et al. (2009), `I`: of IntHout et
al. (2016), for the true difference. `tau`: spread of the true differences; `alike`: correlation of one seed's
differences under two recipes.

Turns: all recipes are 0 but one, which is better by far. `named` by tiedlm, `plain` where every verdict counts.
"""
# ruff: noqa: T201 (its output is what it prints)

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import stdtrit

from tiedlm.comparison.judgement import p_values_of, verdict_of
from tiedlm.comparison.parts.across import over_recipes, turned_sides
from tiedlm.comparison.parts.choice import Losses, best_of, sd_of_choice
from tiedlm.comparison.parts.random_effects import RandomEffects

SIZE = 1e-9
"""Of what counts as equal: so small that a winner is never called equal instead."""
WINNERS = ("better", "worse")


@dataclass(frozen=True)
class Arms:
    """Two variants under some recipes, equal at their best but for `effect`."""

    num_choosing: int
    num_judging: int
    apart: float
    num_recipes: int = 6
    has_own_means: bool = False
    alike: float = 0.0
    ratio: float = 1.0
    effect: float = 0.0

    def losses(self, draws: np.random.Generator) -> np.ndarray:
        """Of one experiment: (variants, recipes, seeds)."""
        num_seeds = self.num_choosing + self.num_judging
        means = draws.normal(0, self.apart, (2 if self.has_own_means else 1, self.num_recipes))
        means = means - means.min(axis=1, keepdims=True)
        noise = np.sqrt(self.alike) * draws.normal(size=(1, self.num_recipes, num_seeds))
        noise = noise + np.sqrt(1 - self.alike) * draws.normal(size=(2, self.num_recipes, num_seeds))
        of_seeds = draws.normal(size=(1, 1, num_seeds))
        return (
            4
            + means[..., None]
            + of_seeds
            + noise * np.array([1.0, self.ratio])[:, None, None]
            - np.array([self.effect, 0.0])[:, None, None]
        )


@dataclass(frozen=True)
class Named:
    """The shares of experiments in which a winner is named."""

    named: float
    plain: float
    same: float


def winners(arms: Arms, trials: int, draws: np.random.Generator) -> Named:
    """Over simulated experiments."""
    counts = np.zeros(3)
    for _ in range(trials):
        losses = arms.losses(draws)
        choosing, judging = np.split(losses, [arms.num_choosing], axis=2)
        first, second = map(_by_recipe, choosing)
        differences = judging[0][int(best_of(first))] - judging[1][int(best_of(second))]
        of_choice = sd_of_choice(first, second)
        all_first, all_second = map(_by_recipe, losses)
        same = losses[0][int(best_of(all_first))] - losses[1][int(best_of(all_second))]
        counts += (
            of_choice is not None and is_won(differences, of_choice**2),
            is_won(differences),
            is_won(same),
        )
    return Named(*(float(count) for count in counts / trials))


def _by_recipe(losses: np.ndarray) -> Losses:
    return {str(recipe): each for recipe, each in enumerate(losses.tolist())}


def is_won(differences: np.ndarray, added: float = 0.0) -> bool:
    """Whether the rule of every comparison names a winner."""
    return judged(differences, added)[0] in WINNERS


def judged(differences: np.ndarray, added: float = 0.0) -> tuple[str, float | None]:
    """The verdict, and the p-value of "not 0"."""
    per_seed = differences.tolist()
    p_values = p_values_of(per_seed, SIZE, added)
    return verdict_of(per_seed, *p_values), p_values[0]


@dataclass(frozen=True)
class Spread:
    """Differences under some recipes, around 0."""

    num_recipes: int
    num_seeds: int
    tau: float
    alike: float = 0.0

    def differences(self, draws: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Of one experiment and one recipe more, which comes last: what is measured (recipes, seeds), and the truth."""
        truth = draws.normal(0, self.tau, self.num_recipes + 1)
        noise = np.sqrt(1 - self.alike) * draws.normal(size=(self.num_recipes + 1, self.num_seeds))
        return truth[:, None] + noise + np.sqrt(self.alike) * draws.normal(size=(1, self.num_seeds)), truth


@dataclass(frozen=True)
class Held:
    """The shares of experiments in which an interval holds what it is to hold."""

    mean: float
    next: float
    true: float
    higgins: float
    inthout: float


def coverage(spread: Spread, trials: int, draws: np.random.Generator) -> Held:
    """Over simulated experiments."""
    counts = np.zeros(5)
    for _ in range(trials):
        measured, truth = spread.differences(draws)
        rows = measured[:-1].tolist()
        numbers = over_recipes([dict(enumerate(row)) for row in rows])
        (low, high), (lowest, highest) = numbers["ci95"], numbers["prediction95"]
        counts += (
            low <= 0 <= high,
            lowest <= measured[-1].mean() <= highest,
            lowest <= truth[-1] <= highest,
            *(abs(truth[-1] - centre) <= half for centre, half in _usual(measured[:-1])),
        )
    return Held(*(float(count) for count in counts / trials))


def _usual(measured: np.ndarray) -> Iterator[tuple[float, float]]:
    """Centre and half width of the two usual prediction intervals."""
    count, num_seeds = measured.shape
    variance = float(measured.var(axis=1, ddof=1).mean()) / num_seeds
    effects = RandomEffects.of(measured.mean(axis=1).tolist(), [variance] * count)
    errors = np.sqrt((variance + effects.variance) / count), effects.error
    for degrees, error in zip((count - 2, count - 1), errors, strict=True):
        yield effects.mean, float(stdtrit(degrees, 0.975) * np.sqrt(effects.variance + error**2))


def turns(num_recipes: int, num_seeds: int, trials: int, draws: np.random.Generator) -> tuple[float, float]:
    """The shares in which a turn of the sign is named, and in which two verdicts differ in their sign."""
    named = plain = 0
    for _ in range(trials):
        differences = draws.normal(size=(num_recipes, num_seeds))
        differences[0] -= 1_000
        verdicts = {str(recipe): judged(row) for recipe, row in enumerate(differences)}
        named += turned_sides(verdicts) is not None
        plain += {*WINNERS} <= {verdict for verdict, _ in verdicts.values()}
    return named / trials, plain / trials


SHAPES = [(2, 3), (3, 2), (5, 5), (2, 8)]
APART = [0.0, 0.5, 1.0, 2.0, 10.0]
KINDS: list[dict[str, Any]] = [
    {},
    {"has_own_means": True},
    {"alike": 0.9},
    {"num_recipes": 2},
    {"num_recipes": 12, "ratio": 4.0, "has_own_means": True},
]


def best_lines(trials: int, draws: np.random.Generator) -> Iterator[str]:
    """The table of best against best."""
    widths = {"recipes": 7, "means": 6, "alike": 6, "ratio": 6, "seeds": 6, "apart": 6}
    yield _header({**widths, "named": 7, "plain": 7, "same": 7, "finds": 7})
    for kind in KINDS:
        for num_choosing, num_judging in SHAPES:
            for apart in APART:
                arms = Arms(num_choosing, num_judging, apart, **kind)
                found, power = winners(arms, trials, draws), winners(replace(arms, effect=3.0), trials // 4, draws)
                yield (
                    f"{arms.num_recipes:>7}{'own' if arms.has_own_means else 'same':>6}{arms.alike:>6}{arms.ratio:>6}"
                    f"{f'{num_choosing}+{num_judging}':>6}{apart:>6}"
                    f"{_shares(found.named, found.plain, found.same, power.named)}"
                )


def across_lines(trials: int, draws: np.random.Generator) -> Iterator[str]:
    """The table of what lies across recipes."""
    yield _header({"recipes": 7, "seeds": 6, "tau": 6, "alike": 6, "mean": 7, "next": 7, "true": 7, "H": 7, "I": 7})
    for num_recipes in (3, 6, 10):
        for num_seeds in (2, 3, 5):
            for alike in (0.0, 0.5):
                for tau in (0.0, 0.25, 0.5, 1.0, 3.0):
                    held = coverage(Spread(num_recipes, num_seeds, tau, alike), trials, draws)
                    shares = _shares(held.mean, held.next, held.true, held.higgins, held.inthout)
                    yield f"{num_recipes:>7}{num_seeds:>6}{tau:>6}{alike:>6}{shares}"


def turn_lines(trials: int, draws: np.random.Generator) -> Iterator[str]:
    """The table of turns of the sign."""
    yield _header({"recipes": 7, "seeds": 6, "named": 7, "plain": 7})
    for num_recipes in (2, 3, 6, 10):
        for num_seeds in (2, 5):
            yield f"{num_recipes:>7}{num_seeds:>6}{_shares(*turns(num_recipes, num_seeds, trials, draws))}"


def _header(widths: dict[str, int]) -> str:
    return "".join(f"{name:>{width}}" for name, width in widths.items())


def _shares(*values: float) -> str:
    return "".join(f"{100 * value:>7.1f}" for value in values)


def main(arguments: list[str] | None = None) -> None:
    """Print the three tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=500, help="a cell; default: %(default)s")
    parser.add_argument("--seed", type=int, default=0, help="default: %(default)s")
    asked = parser.parse_args(arguments)
    draws = np.random.default_rng(asked.seed)
    error = 100 * np.sqrt(0.05 * 0.95 / asked.trials)
    print(f"{asked.trials:,} experiments a cell: 5 and 95 % are right to {error:.1f} (one standard error)")
    for lines in (best_lines, across_lines, turn_lines):
        print()
        for line in lines(asked.trials, draws):
            print(line, flush=True)


if __name__ == "__main__":
    main()
