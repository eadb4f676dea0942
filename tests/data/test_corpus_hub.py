"""Data sets of the hub, each through a process of its own, as `datasets` keeps its settings for good once imported."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.loopback_hub import COMMIT, Hub
from tiedlm.config.base import ConfigError, parse
from tiedlm.data.config import DataConfig
from tiedlm.data.counting import SplitCounts, TextCounts
from tiedlm.data.open_corpus import open_corpus
from tiedlm.data.wikitext import KNOWN, Wikitext
from tiedlm.talk import SILENT

TRAIN = ["", " = One = \n", "", " Cats sit . <unk> \n", " = = Part = = \n", "", " = Two = \n", "", " Dogs run . \n"]
SHORT = ["", " = Three = \n", "", " Cats run . \n"]
WIKITEXT = Hub(
    "Salesforce/wikitext",
    {"wikitext-103-v1": {"train": {"text": TRAIN}, "validation": {"text": SHORT}, "test": {"text": SHORT}}},
)
PROGRAM = """
import json, sys
from pathlib import Path
from tiedlm.config.base import ConfigError, parse
from tiedlm.data.config import DataConfig
from tiedlm.data.prepare import prepare
from tiedlm.errors import RunError

def show(corpus):
    config = {"corpus": corpus, "tokenizer": {"type": "byte"}, "seq_len": 8}
    data = prepare(parse(DataConfig, config), Path(sys.argv[2]))
    splits = {name: data.split(name) for name in ("train", "validation", "test")}
    print(json.dumps({
        "tokens_sha256": data.tokens_sha256, "caption": data.corpus.caption, "details": data.corpus.details,
        "counts": {name: [s.num_tokens, s.words, s.rows, s.bytes, s.documents] for name, s in splits.items()},
        "text": data.decode(splits["train"].ids[1:].tolist()),
        "imported": sorted({"datasets", "tokenizers", "torch"} & set(sys.modules)),
    }))

for corpus in json.loads(sys.argv[1]):
    try:
        show(corpus)
    except (ConfigError, RunError) as error:
        print(type(error).__name__, getattr(error, "kind", ""), error, file=sys.stderr)
"""
Corpus = dict[str, Any]


@dataclass
class Place:
    """A machine with caches of its own."""

    folder: Path
    endpoint: str

    def run(self, *corpora: Corpus, cache: str = "tiedlm", **environment: str) -> subprocess.CompletedProcess[str]:
        """Prepare `corpora` in one process: figures on stdout, errors on stderr, a line each."""
        keep = {key: os.environ[key] for key in ("PATH", "HOME", "TMPDIR") if key in os.environ}
        hub = {"HF_ENDPOINT": self.endpoint, "HF_HOME": str(self.folder / "hf")}
        return subprocess.run(
            [sys.executable, "-c", PROGRAM, json.dumps(corpora), str(self.folder / cache)],
            env={**keep, **hub, "PYTHONPATH": str(Path(__file__).parent.parent.parent), **environment},
            capture_output=True,
            text=True,
            timeout=60,
        )

    def prepare(self, corpus: Corpus, cache: str = "tiedlm", **environment: str) -> Any:
        """The figures of one corpus."""
        done = self.run(corpus, cache=cache, **environment)
        assert done.stdout, done.stderr
        return json.loads(done.stdout)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with WIKITEXT.serve() as endpoint:
        yield Place(tmp_path_factory.mktemp("place"), endpoint)


BY_ID = {"type": "hub", "config": "wikitext-103-v1", "revision": COMMIT}


@pytest.fixture(scope="module")
def figures(place: Place) -> list[Any]:
    """Of WikiText, and of the same by its two ids on the hub, one after the other in one process."""
    done = place.run({"type": "wikitext"}, {**BY_ID, "id": "wikitext"}, {**BY_ID, "id": "Salesforce/wikitext"})
    assert not done.returncode and len(done.stdout.splitlines()) == 3, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def loaded(figures: list[Any]) -> Any:
    return figures[0]


def test_wikitext_comes_through_datasets_with_its_rows_and_articles(loaded: Any) -> None:
    text = "".join(row or "\n" for row in TRAIN)
    assert loaded["imported"] == ["datasets"]
    assert loaded["text"] == text
    words = sum(len(row.split()) + 1 for row in TRAIN)
    assert loaded["counts"]["train"] == [len(text) + 2, words, len(TRAIN), len(text), 2]
    assert loaded["details"]["source"] == "Salesforce/wikitext"
    assert loaded["details"]["revision"] == COMMIT


def test_a_slice_of_wikitext_is_not_called_wikitext(loaded: Any) -> None:
    words = sum(len(row.split()) + 1 for row in TRAIN)
    assert loaded["caption"] == (
        f"a text that is not WikiText-103 as published (wikitext-103-v1: {words} train words instead of 103,227,021)"
    )


def test_a_second_start_imports_neither_datasets_nor_tokenizers(place: Place, loaded: Any) -> None:
    again = place.prepare({"type": "wikitext"})
    assert again["imported"] == []
    assert {**again, "imported": None} == {**loaded, "imported": None}


def test_d01_wikitext_and_salesforce_wikitext_are_one_data_set(figures: list[Any]) -> None:
    loaded, *by_id = figures
    for found in by_id:
        assert {**found, "imported": None} == {**loaded, "imported": None}


def test_d01_a_wrong_variant_of_wikitext_lists_the_right_ones() -> None:
    for corpus in (
        {"type": "wikitext", "name": "wikitext-103"},
        {"type": "hub", "id": "wikitext", "config": "wikitext-103"},
    ):
        with pytest.raises(ConfigError) as caught:
            open_corpus(parse(DataConfig, {"corpus": corpus, "tokenizer": {"type": "byte"}, "seq_len": 8}).corpus)
        assert all(name in str(caught.value) for name in KNOWN)


@pytest.fixture(scope="module")
def offline(place: Place, loaded: Any) -> subprocess.CompletedProcess[str]:
    """Without a hub, with what `loaded` left in the cache of `datasets`: that revision and another one."""
    corpora = ({"type": "wikitext"}, {"type": "wikitext", "revision": "a" * 40})
    assert loaded
    return place.run(*corpora, cache="another", HF_HUB_OFFLINE="1", HF_ENDPOINT="http://127.0.0.1:9")


def test_d05_a_warm_cache_is_enough_offline(offline: subprocess.CompletedProcess[str], loaded: Any) -> None:
    found = json.loads(offline.stdout)
    assert found["imported"] == ["datasets"]
    assert found["tokens_sha256"] == loaded["tokens_sha256"]


@pytest.mark.parametrize("switch", [{"HF_HUB_OFFLINE": "1"}, {"HF_DATASETS_OFFLINE": "1"}, {}])
def test_d05_an_empty_cache_offline_fails_soon_and_says_what_to_do(tmp_path: Path, switch: dict[str, str]) -> None:
    began = time.monotonic()
    done = Place(tmp_path, "http://127.0.0.1:9").run({"type": "wikitext"}, **switch)
    assert time.monotonic() - began < 30
    assert not done.stdout
    assert "RunError offline Salesforce/wikitext wikitext-103-v1" in done.stderr
    assert "HF_ENDPOINT" in done.stderr and "Traceback" not in done.stderr


def test_d05_offline_another_revision_is_not_taken_for_the_one_asked(
    offline: subprocess.CompletedProcess[str],
) -> None:
    told = f"RunError offline Salesforce/wikitext wikitext-103-v1 revision {'a' * 40} is not in the cache"
    assert len(offline.stdout.splitlines()) == 1 and told in offline.stderr


def test_a_download_that_ends_early_is_one_clear_error(tmp_path: Path) -> None:
    broken = Hub(WIKITEXT.repository, WIKITEXT.configs, cut_short=True)
    with broken.serve() as endpoint:
        done = Place(tmp_path, endpoint).run({"type": "wikitext"})
    assert not done.stdout
    assert "RunError download Salesforce/wikitext" in done.stderr and "Traceback" not in done.stderr
    assert len(broken.requests) < 60


def test_a_hub_that_is_busy_is_asked_again(tmp_path: Path, loaded: Any) -> None:
    busy = Hub(WIKITEXT.repository, WIKITEXT.configs, num_busy=1)
    with busy.serve() as endpoint:
        done = Place(tmp_path, endpoint).run({"type": "wikitext"})
    assert busy.num_busy == 0
    assert json.loads(done.stdout)["tokens_sha256"] == loaded["tokens_sha256"]


def test_an_endpoint_that_is_no_address_is_named(tmp_path: Path) -> None:
    done = Place(tmp_path, "nonsense").run({"type": "wikitext"})
    assert "ConfigError  HF_ENDPOINT: 'nonsense' is no address" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("name", ["text", "json", "../up", "a/b/c", "/etc", "a b/c"])
def test_what_the_library_would_read_from_this_machine_is_no_id(name: str) -> None:
    with pytest.raises(ConfigError, match="must be the id of a data set"):
        parse(DataConfig, {"corpus": {"type": "hub", "id": name}, "tokenizer": {"type": "byte"}, "seq_len": 8})


def test_a_folder_of_the_name_of_a_data_set_is_not_read_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "someone" / "Stories").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    corpus = parse(DataConfig, {"corpus": STORIES, "tokenizer": {"type": "byte"}, "seq_len": 8}).corpus
    with pytest.raises(ConfigError, match=r"data.corpus.id: 'someone/Stories' is a folder here too"):
        open_corpus(corpus).read(SILENT)


def test_another_text_under_the_same_name_never_meets_the_old_tokens(tmp_path: Path, loaded: Any) -> None:
    other = {split: {"text": [*columns["text"], " More . \n"]} for split, columns in _splits().items()}
    with Hub(WIKITEXT.repository, {"wikitext-103-v1": other}).serve() as endpoint:
        found = Place(tmp_path, endpoint).prepare({"type": "wikitext"})
    assert found["tokens_sha256"] != loaded["tokens_sha256"]
    assert found["counts"]["test"][2] == len(SHORT) + 1


def _splits() -> Any:
    return WIKITEXT.configs["wikitext-103-v1"]


OTHER = Hub(
    "someone/Stories",
    {
        "default": {
            "train": {"story": ["a b\n\nc", "d\r\ne", None, "", "f g"] * 4, "stars": list(range(20))},
            "dev": {"story": ["h i"], "stars": [1]},
        }
    },
)
STORIES = {
    "type": "hub",
    "id": "someone/Stories",
    "column": "story",
    "train": "train[:50%]",
    "validation": "dev",
    "test": "train[50%:]",
}


def test_any_data_set_is_read_by_slices_and_a_row_of_it_is_a_document(
    stories: subprocess.CompletedProcess[str],
) -> None:
    found = json.loads(stories.stdout)
    text = "a b\n\nc\nd\r\ne\n\nf g\n" * 2
    assert found["text"] == text
    assert found["counts"]["train"] == [len(text) + 8, len(text.split()) + 14, 14, len(text), 8]
    assert found["details"]["train"] == "train[:50%]"
    assert found["details"]["revision"] == COMMIT


WRONG = [
    ({"column": "text"}, "data.corpus.column", "story"),
    ({"column": "stars"}, "data.corpus.column", "story"),
    ({"validation": "validation"}, "data.corpus.validation", "train, dev"),
    ({"train": "train[:x]"}, "data.corpus.train", "train[:x]"),
    ({"config": "plain"}, "data.corpus.config", "default"),
    ({"id": "someone/Tales"}, "data.corpus.id", "someone/Tales"),
    ({"test": "train[-15:]"}, "data.corpus.test", "train[:50%]"),
]


@pytest.fixture(scope="module")
def stories(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    """Of a data set with its right names, and with each of some wrong ones."""
    with OTHER.serve() as endpoint:
        place = Place(tmp_path_factory.mktemp("stories"), endpoint)
        return place.run(STORIES, *({**STORIES, **change} for change, _, _ in WRONG))


def test_a_wrong_name_is_told_by_its_key_with_the_right_ones(stories: subprocess.CompletedProcess[str]) -> None:
    for line, (_, key, right) in zip(stories.stderr.splitlines(), WRONG, strict=True):
        assert line.startswith(f"ConfigError  {key}: ") and right in line


def test_only_all_known_totals_make_the_name_of_wikitext() -> None:
    words, articles, rows = (KNOWN["wikitext-103-v1"][unit] for unit in ("words", "documents", "rows"))
    splits = {
        split: SplitCounts(words=words[i], rows=rows[i], bytes=1, documents=articles[i])
        for i, split in enumerate(("train", "validation", "test"))
    }
    corpus = open_corpus(
        parse(DataConfig, {"corpus": {"type": "wikitext"}, "tokenizer": {"type": "byte"}, "seq_len": 8}).corpus
    )
    assert isinstance(corpus, Wikitext)
    whole = TextCounts.model_validate({"sha256": "", "splits": splits})
    assert corpus.caption(whole) == "WikiText-103 (wikitext-103-v1)"
    splits["test"] = splits["test"].model_copy(update={"documents": 59})
    less = TextCounts.model_validate({"sha256": "", "splits": splits})
    told = "a text that is not WikiText-103 as published (wikitext-103-v1: 59 test articles instead of 60)"
    assert corpus.caption(less) == told
    assert corpus.details(less)["splits as published"] == "train, validation"


def test_a_column_read_over_several_maps_has_each_value_once_and_holds_one_map(tmp_path: Path) -> None:
    program = """
import json, sys
import datasets
from tiedlm.data import hub
hub._BATCH, hub._MAPPED = 3, 1
values = [None if n % 5 == 0 else f"value {n}" for n in range(40)]
datasets.Dataset.from_dict({"text": values}).save_to_disk(sys.argv[1])
column = hub.Column(datasets.load_from_disk(sys.argv[1]).with_format("arrow"), "text")
maps = lambda: sum(sys.argv[1] in line for line in open("/proc/self/maps"))
read, seen = [], set()
for value in column:
    read.append(value)
    seen.add(maps())
assert read == [value for value in values if value is not None] == list(column)
print(json.dumps(sorted(seen)))
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "data")],
        env={**os.environ, "HF_HOME": str(tmp_path), "HF_DATASETS_DISABLE_PROGRESS_BARS": "1", "USE_TORCH": "0"},
        stdout=subprocess.PIPE,
        check=True,
        timeout=60,
    )
    assert json.loads(done.stdout) == [1]
