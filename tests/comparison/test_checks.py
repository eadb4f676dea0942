"""Two documents leaf by leaf: what counts as equal, and how what is not is told."""

from typing import Any

import pytest

from tiedlm.comparison.checks import Checks


def failed(stored: Any, recomputed: Any) -> list[tuple[str, Any, Any]]:
    checks = Checks()
    checks.check("file", stored, recomputed)
    return [(fault.key, fault.stored, fault.recomputed) for fault in checks.failed]


@pytest.mark.parametrize(
    ("stored", "recomputed", "holds"),
    [
        (1.0, 1.0 + 1e-12, True),
        (1e12, 1e12 * (1 + 1e-10), True),
        (1e12, 1e12 * (1 + 1e-8), False),
        (1e-12, -1e-12, True),
        (1.0, 1.00000001, False),
        (10**10, 10**10 + 1, False),
        (1, 1.0, True),
        (None, None, True),
        (None, 0, False),
        (0, None, False),
        (True, True, True),
        ("a", "b", False),
    ],
)
def test_whole_numbers_are_equal_exactly_and_others_to_a_billionth(stored: Any, recomputed: Any, holds: bool) -> None:
    assert (failed({"x": stored}, {"x": recomputed}) == []) == holds


def test_a_place_is_named_by_keys_and_by_what_tells_members_apart() -> None:
    stored = {"a": [{"name": "tied", "seeds": [0, 1]}, {"variant": "soft", "split": "test", "mean": 1.0}]}
    recomputed = {"a": [{"name": "tied", "seeds": [0, 2]}, {"variant": "soft", "split": "test", "mean": 2.0}]}
    assert failed(stored, recomputed) == [("a[tied].seeds[1]", 1, 2), ("a[soft, test].mean", 1.0, 2.0)]


def test_what_is_not_stored_was_not_reported_and_what_is_not_recomputed_does_not_hold() -> None:
    assert failed({}, {"more": 1}) == []
    assert failed({"more": 1}, {}) == [("more", 1, "nothing")]
    assert failed({"list": [1]}, {"list": [1, 2]}) == [("list, length", 1, 2)]
    assert failed({"list": [1]}, {"list": None}) == [("list", "list", None)]


def test_numbers_and_words_are_counted_apart() -> None:
    document = {"a": 1, "b": [2.0, True, None], "c": "word"}
    checks, numbers_alone = Checks(), Checks(words=False)
    checks.check("file", document, document)
    assert (checks.num_numbers, checks.num_words, checks.failed) == (2, 1, [])
    numbers_alone.check("file", document, {**document, "c": "another"})
    assert (numbers_alone.num_numbers, numbers_alone.num_words, numbers_alone.failed) == (2, 0, [])
