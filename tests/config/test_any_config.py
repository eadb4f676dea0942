"""Whatever stands in a config: it plans, or it is refused in words, before anything is begun.

What is tried is derived from the config models, so that a new key is tried without a word here.
"""

import contextlib
import io
import json
import types
import typing
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import annotated_types
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from cli.main import main
from tiedlm.config.base import ConfigError, Raw, merge
from tiedlm.config.file import read_config
from tiedlm.config.find import find_config
from tiedlm.config.yaml_core import dump_yaml, load_yaml
from tiedlm.experiment.config import ExperimentKeys
from tiedlm.experiment.plan import plan
from tiedlm.experiment.reading import experiment_from, load_experiment
from tiedlm.run.config import RunConfig
from tiedlm.run.folder import raw_config

SETTINGS = settings(
    derandomize=True,
    deadline=None,
    database=None,
    max_examples=70,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
NAMES = st.sampled_from(["tied", "untied", "soft-0.1", "x", "A_b+c=d@e", "9"])
PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
ANYTHING = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
BASES = [read_config(find_config(name)) for name in ("quickstart", "tied", "untied", "press-wolf-small", "progressive")]


def flat(metadata: Iterable[Any]) -> Iterator[Any]:
    """The constraints of a field, also those inside the `Field` of an alias."""
    for item in metadata:
        if isinstance(item, FieldInfo | annotated_types.GroupedMetadata):
            yield from flat(item.metadata if isinstance(item, FieldInfo) else item)
        else:
            yield item


def bounds(metadata: Iterable[Any]) -> tuple[Any, Any, bool, bool]:
    """Least and greatest, and whether each of them is left out."""
    least: Any = None
    greatest: Any = None
    above = below = False
    for item in flat(metadata):
        match item:
            case annotated_types.Ge():
                least, above = item.ge, False
            case annotated_types.Gt():
                least, above = item.gt, True
            case annotated_types.Le():
                greatest, below = item.le, False
            case annotated_types.Lt():
                greatest, below = item.lt, True
    return least, greatest, above, below


def values(annotation: Any, metadata: tuple[Any, ...] = ()) -> st.SearchStrategy[Any]:
    """What a config may give where a field has this type, as a YAML file has it: each value good by itself."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        return values(arguments[0], (*arguments[1:], *metadata))
    if origin in (typing.Union, types.UnionType):
        return st.one_of([values(each, metadata) for each in arguments])
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin is tuple:
        if arguments[-1] is Ellipsis:
            return st.lists(values(arguments[0]), min_size=1, max_size=3, unique=True)
        return st.tuples(*map(values, arguments)).map(list)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return whole(annotation)
    if origin is dict or annotation is Any:
        return st.dictionaries(NAMES, ANYTHING, max_size=2)
    return single(annotation, metadata)


def single(annotation: Any, metadata: tuple[Any, ...]) -> st.SearchStrategy[Any]:
    """Numbers mostly of the size that people give, now and then as large as they may be."""
    least, greatest, above, below = bounds(metadata)
    pattern = next((item.pattern for item in flat(metadata) if getattr(item, "pattern", None)), None)
    if annotation is type(None):
        return st.none()
    if annotation is bool:
        return st.booleans()
    if annotation is int:
        first, last = (least or 0) + above, None if greatest is None else greatest - below
        return st.sampled_from([first, first + 1, first + 7]) | st.integers(first, last)
    if annotation is float:
        low, high = 0.0 if least is None else least, 1e6 if greatest is None else greatest
        return st.floats(low, high, exclude_min=above, exclude_max=below and greatest is not None)
    assert annotation is str, f"say here which values of {annotation} to try"
    return st.from_regex(pattern, fullmatch=True) if pattern else NAMES


@st.composite
def whole(draw: st.DrawFn, model: type[BaseModel]) -> Raw:
    """A mapping with all that a model requires and some of the rest."""
    fields = {
        name: field
        for name, field in model.model_fields.items()
        if field.is_required() or name == "type" or draw(st.integers(0, 4)) == 0
    }
    return {name: draw(values(field.annotation, tuple(field.metadata))) for name, field in fields.items()}


@st.composite
def part(draw: st.DrawFn, fields: dict[str, FieldInfo]) -> Raw:
    """One to three keys to lay over a config that is good; of a model inside it, keys of that."""
    names = draw(st.lists(st.sampled_from(sorted(fields)), min_size=1, max_size=3, unique=True))
    override = {}
    for name in names:
        field = fields[name]
        inner = [each for each in (field.annotation, *typing.get_args(field.annotation)) if _is_model(each)]
        if inner and "type" not in fields and draw(st.booleans()):
            override[name] = draw(part({key: each for key, each in inner[0].model_fields.items() if key != "type"}))
        else:
            override[name] = draw(values(field.annotation, tuple(field.metadata)))
    return override


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


KEYS = {**RunConfig.model_fields, **ExperimentKeys.model_fields}
CHANGED = st.builds(merge, st.sampled_from(BASES), part(KEYS))


@st.composite
def spoiled(draw: st.DrawFn) -> Raw:
    """A config in which one place holds something else, is gone, or has another name."""
    root: Raw = load_yaml(dump_yaml(draw(CHANGED)), "")
    mapping = root
    while True:
        key = draw(st.sampled_from(sorted(mapping)))
        if not (isinstance(mapping[key], dict) and mapping[key]) or draw(st.integers(0, 3)) == 0:
            break
        mapping = mapping[key]
    match draw(st.sampled_from(["other", "gone", "renamed"])):
        case "other":
            mapping[key] = draw(ANYTHING)
        case "gone":
            del mapping[key]
        case "renamed":
            mapping[draw(st.text(max_size=9)) or key[:-1]] = mapping.pop(key)
    return root


def outcome(folder: Path, text: str | bytes) -> str:
    """What becomes of a config file. Where it is refused, the command itself is asked to train it."""
    path = folder / "any.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    try:
        experiment = load_experiment(path)
    except ConfigError as error:
        assert error.problems and all(str(problem).strip() for problem in error.problems)
        assert_refused(folder, path)
        return "refused"
    runs = plan(experiment, folder / "runs")
    assert len(runs) == len(experiment.variants) * len(experiment.seeds)
    assert len({run.directory for run in runs}) == len(runs)
    for run in runs[:2]:
        assert run.directory.resolve().is_relative_to((folder / "runs").resolve())
        written = load_yaml(dump_yaml(raw_config(run.config)), "")
        assert RunConfig.model_validate(written) == run.config, "a run reads its own config as it was"
    return "plans"


def assert_refused(folder: Path, path: Path) -> None:
    out, err = io.StringIO(), io.StringIO()
    before = sorted(folder.iterdir())
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["compare", str(path), "--json", "--runs-dir", str(folder / "runs"), "--cache-dir", str(folder)])
    error = json.loads(out.getvalue(), parse_constant=pytest.fail)["error"]
    assert (code, error["kind"]) == (2, "config")
    said = err.getvalue()
    assert all(line.startswith("tiedlm: ") for line in said.splitlines())
    assert all(symbol.isprintable() or symbol == "\n" for symbol in said)
    assert sorted(folder.iterdir()) == before, "nothing is begun"


def test_keys_changed_within_their_own_bounds_plan_or_are_refused_together(tmp_path: Path) -> None:
    """Each value is good by itself, so what is refused is a combination."""
    outcomes: Counter[str] = Counter()

    @SETTINGS
    @given(CHANGED)
    def check(raw: Raw) -> None:
        outcomes[outcome(tmp_path, dump_yaml(raw))] += 1

    check()
    assert min(outcomes["plans"], outcomes["refused"]) > 20, outcomes


def test_a_config_with_anything_in_the_place_of_something_is_refused_or_plans(tmp_path: Path) -> None:
    outcomes: Counter[str] = Counter()

    @SETTINGS
    @given(spoiled())
    def check(raw: Raw) -> None:
        outcomes[outcome(tmp_path, dump_yaml(raw))] += 1

    check()
    assert outcomes["refused"] > 50, outcomes


@SETTINGS
@given(st.text(max_size=40) | st.binary(max_size=40) | ANYTHING.map(json.dumps))
def test_no_file_at_all_ends_in_a_traceback(tmp_path: Path, content: str | bytes) -> None:
    assert outcome(tmp_path, content) == "refused"


@SETTINGS
@given(st.sampled_from(sorted(KEYS)), st.text(max_size=20), st.text(max_size=20))
def test_no_setting_ends_in_a_traceback(first: str, rest: str, value: str) -> None:
    for setting in (f"{first}.{rest}={value}", f"{first}={value}", f"{rest}{value}"):
        with contextlib.suppress(ConfigError):
            assert plan(load_experiment("quickstart", [setting]), Path("runs"))


def test_every_key_is_among_what_is_tried() -> None:
    """By drawing until each was there; a type that `values` does not know fails here first."""
    missing = {f"{name}" for name in KEYS}

    @settings(SETTINGS, max_examples=200)
    @given(part(KEYS))
    def check(override: Raw) -> None:
        missing.difference_update(override)

    check()
    assert not missing
    with pytest.raises(ConfigError):
        experiment_from({})
