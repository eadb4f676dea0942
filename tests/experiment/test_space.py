"""The space of a search: what is drawn lies in it, is short, and hangs on its seed, its key and its number alone."""

import hashlib
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiedlm.config.base import ConfigError
from tiedlm.experiment.space import Choices, Range, dimension, distinct_draws, draw, keys_in, size_of

RATES = Range(low=5e-4, high=1e-2, log=True)
PLACES = st.floats(min_value=0, max_value=1, exclude_max=True)


@given(place=PLACES, low=st.floats(1e-6, 1e3), times=st.floats(1.001, 1e6), log=st.booleans())
def test_a_number_lies_in_its_range_and_has_four_digits_or_is_an_end(
    place: float, low: float, times: float, log: bool
) -> None:
    one = Range(low=low, high=low * times, log=log)
    number = one.at(place)
    assert one.low <= number <= one.high and one.holds(number)
    assert number in (one.low, one.high) or number == float(f"{number:.4g}")
    assert one.rounded(number) == number


def test_places_are_spread_evenly_on_the_scale_of_the_range() -> None:
    assert [RATES.at(place) for place in (0, 0.5)] == [5e-4, pytest.approx(math.sqrt(5e-4 * 1e-2), rel=1e-3)]
    assert RATES.share(RATES.at(0.25)) == pytest.approx(0.25, abs=1e-3)
    plain = Range(low=0, high=0.2)
    assert [plain.at(place) for place in (0, 0.25, 0.5)] == [0, 0.05, 0.1]
    assert plain.share(0.05) == 0.25


def test_a_range_with_steps_has_so_many_numbers_each_as_likely() -> None:
    layers, dropout = Range(low=1, high=4, step=1), Range(low=0, high=0.3, step=0.1)
    assert [layers.at(place / 8) for place in range(8)] == [1, 1, 2, 2, 3, 3, 4, 4]
    assert all(type(layers.at(place / 8)) is int for place in range(8)), "whole from a whole one in whole steps"
    assert [dropout.at(place / 4) for place in range(4)] == [0, 0.1, 0.2, 0.3]
    assert (layers.size, dropout.size, RATES.size) == (4, 4, None)
    assert Range(low=1, high=6, step=2).ends() == [1, 5]
    assert dropout.holds(0.3) and not dropout.holds(0.25) and not layers.holds(5) and not layers.holds("1")
    assert size_of({"a": layers, "b": Choices((1, 2, 3))}) == 12
    assert size_of({"a": layers, "b": RATES}) is None


@pytest.mark.parametrize(
    ("raw", "key", "words"),
    [
        ({"low": 2, "high": 1}, "k", "low 2 must be below high 1"),
        ({"low": 0, "high": 1, "log": True}, "k", "above 0 where log"),
        ({"low": 1, "high": 4, "log": True, "step": 1}, "k", "not both"),
        ({"low": 1, "high": 4, "step": 5}, "k", "leads beyond"),
        ({"low": 1}, "k.high", "is required"),
        ({"low": 1, "high": "4"}, "k.high", "must be a number"),
        (3, "k", "must be {low: .., high: ..}"),
        ([], "k", "must be {low: .., high: ..}"),
    ],
)
def test_what_is_no_range_and_no_list_is_refused_under_its_key(raw: Any, key: str, words: str) -> None:
    with pytest.raises(ConfigError) as refused:
        dimension(raw, "k")
    (problem,) = refused.value.problems
    assert problem.key == key and words in problem.message


def test_a_draw_is_the_hash_of_seed_key_and_number() -> None:
    """The same on every machine: worked out here by itself."""
    key = "training.learning_rate"
    text = "\x1f".join(["7", "str:tune", f"str:{key}", "int:3"])
    place = (int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1) / 2**63
    assert draw({key: RATES}, 7, 3) == {key: float(f"{5e-4 * 20**place:.4g}")}


def test_draws_are_even_over_the_range() -> None:
    """Kolmogorov's distance of 1,000 draws from evenness is below its 99.9 % bound."""
    shares = sorted(RATES.share(draw({"a": RATES}, 0, number)["a"]) for number in range(1000))
    distance = max(max(share - rank / 1000, (rank + 1) / 1000 - share) for rank, share in enumerate(shares))
    assert distance < 1.95 / math.sqrt(1000)


def test_variants_share_the_values_of_the_keys_that_they_share() -> None:
    spaces = {"tied": {"a": RATES}, "untied": {"b": Range(low=1, high=9), "a": RATES}}
    drawn = distinct_draws(spaces, 0, 20)
    assert [point["a"] for point in drawn["tied"]] == [point["a"] for point in drawn["untied"]]
    assert distinct_draws(spaces, 0, 10)["untied"] == drawn["untied"][:10], "more of them begin with the same"
    assert distinct_draws(spaces, 1, 10)["tied"] != drawn["tied"][:10]


def test_no_point_is_drawn_twice_and_no_more_than_there_are() -> None:
    space = {"a": Choices((1, 2, 3)), "b": Choices(("x", "y"))}
    drawn = distinct_draws({"tied": space}, 0, 6)["tied"]
    assert len({tuple(point.values()) for point in drawn}) == 6
    with pytest.raises(ConfigError, match="7, of a space with 6 points"):
        distinct_draws({"tied": space}, 0, 7)


def test_a_space_may_be_written_with_dots_or_nested() -> None:
    dotted = {"training.learning_rate": {"low": 1, "high": 2}, "model.dropout": [0]}
    nested = {"training": {"learning_rate": {"low": 1, "high": 2}}, "model": {"dropout": [0]}}
    assert dict(keys_in(dotted)) == dict(keys_in(nested)) == dotted
