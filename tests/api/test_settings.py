"""Overrides and mappings reach a config with the values that they have in Python."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiedlm.api.settings import as_config, as_settings
from tiedlm.config.file import apply_settings
from tiedlm.config.written import Written
from tiedlm.errors import ConfigError

TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="\ufeff\ufffe\uffff"))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["a", "b", "type"]), inner),
    max_leaves=5,
)


@given(VALUES)
def test_a_value_arrives_as_it_is(value: Any) -> None:
    found = apply_settings({}, as_settings({"one.two": value}))["one"]["two"]
    assert found == value
    assert type(found) is type(value) or (isinstance(found, Written) and type(value) is str)


def test_values_of_numpy_and_tuples_and_paths_are_those_of_a_file() -> None:
    given = {"a": np.int64(3), "b": np.float32(0.5), "c": (1, 2), "d": Path("x/y"), "e": {"f": np.float64(1e-4)}}
    plain = {"a": 3, "b": 0.5, "c": [1, 2], "d": "x/y", "e": {"f": 1e-4}}
    assert as_config(given) == plain
    assert apply_settings({}, as_settings(given)) == plain


def test_settings_may_be_as_on_the_command_line() -> None:
    assert as_settings(["a.b=1", "c=x"]) == ["a.b=1", "c=x"] and as_settings("a=1") == ["a=1"]
    assert as_settings(None) == as_settings({}) == []


def test_what_no_file_can_hold_is_refused_by_its_key() -> None:
    with pytest.raises(ConfigError, match=r"^model\.tying: a value of type set"):
        as_config({"model": {"tying": {1}}})
    with pytest.raises(ConfigError, match=r"^seeds: a value of type range_iterator"):
        as_settings({"seeds": iter(range(2))})
    assert as_settings({"seeds": range(2)}) == ["seeds=[0, 1]"]
