"""What is shown while a run trains: loss, validation beside that of an earlier run, speed, and its scoring."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.small_runs import carry_out, shared_cache, small_run
from tiedlm.run.execute import execute
from tiedlm.run.folder import RunFolder
from tiedlm.run.progress_writer import find_earlier
from tiedlm.talk import Silence, Update

VALIDATED = ("training.evaluate_every=2", "training.steps=6")


class Screen(Silence):
    """Keeps what progress shows, by the label of the task, and what is being done."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: list[tuple[str, float, str]] = []
        self.doing: list[str] = []
        self.said: list[str] = []

    def say(self, text: str) -> None:
        self.said.append(text)

    def now(self, text: str) -> None:
        self.doing.append(text)

    @contextmanager
    def progress(self, label: str, total: float) -> Iterator[Update]:
        yield lambda done, words: self.shown.append((label, done, words))


def test_a_run_says_what_it_is_doing_from_its_start_to_its_result(tmp_path: Path) -> None:
    screen = Screen()
    carry_out(small_run(tmp_path, *VALIDATED), talk=screen)
    words = [text.partition(": ")[2] for text in screen.doing if ": " in text]
    assert words == ["opening the text", "building the model", "scoring", "writing the result"]
    assert next(text for text in screen.doing if "validation" in text and "after step" in text).endswith("after step 2")
    labels = list(dict.fromkeys(label for label, _, _ in screen.shown))
    splits = [f"tied seed 0: {split} split" for split in ("train", "validation", "test")]
    assert [label for label in labels if label.startswith("tied")] == ["tied seed 0", *splits]


def test_the_newest_validation_stands_beside_the_loss_and_what_is_being_scored_in_its_place(tmp_path: Path) -> None:
    screen = Screen()
    carry_out(small_run(tmp_path, *VALIDATED), talk=screen)
    words = [(done, text.split("  ")) for label, done, text in screen.shown if label == "tied seed 0"]
    assert all(text[0].startswith("loss ") for _, text in words)
    assert next(text for done, text in words if done == 1)[1:] == [], "nothing was validated yet"
    at_two = [text[1].split()[0] for done, text in words if done == 2 and len(text) > 1]
    assert at_two[0] == "scoring" and at_two[-1] == "validation"
    at_three = [text[1] for done, text in words if done == 3]
    assert all(text.startswith("validation ") for text in at_three)


def test_beside_a_validation_stands_that_of_a_finished_run_at_the_same_step(tmp_path: Path) -> None:
    tied, untied = (small_run(tmp_path, *VALIDATED, variant=variant) for variant in ("tied", "untied"))
    assert find_earlier(untied, [tied]) is None
    carry_out(tied)
    screen = Screen()
    execute(untied, cache_dir=shared_cache(), talk=screen, siblings=[tied])
    result = RunFolder(tied.directory).result()
    assert result is not None
    at_two = result.validation_curve[0]
    assert at_two.step == 2
    ours = RunFolder(untied.directory).result()
    assert ours is not None
    difference = ours.validation_curve[0].nats_per_token - at_two.nats_per_token
    side = f"{abs(difference):.3f} nats per token {'above' if difference > 0 else 'below'} tied at that step"
    (said,) = [text for text in screen.said if "after step 2" in text]
    assert said.endswith(f"after step 2, {side}")
    assert find_earlier(tied, [untied, tied]) is not None
    RunFolder(tied.directory).result_file.write_text("{}")
    assert find_earlier(untied, [tied]) is None, "a file of another run that is damaged does not end this one"


def test_once_a_pair_has_finished_the_next_is_shown_beside_and_not_said(tmp_path: Path) -> None:
    for variant, seed in (("tied", 0), ("untied", 0), ("tied", 1)):
        carry_out(small_run(tmp_path, *VALIDATED, variant=variant, seed=seed))
    screen = Screen()
    tied, untied = (small_run(tmp_path, *VALIDATED, variant=variant, seed=1) for variant in ("tied", "untied"))
    execute(untied, cache_dir=shared_cache(), talk=screen, siblings=[tied])
    (beside,) = [text for text in screen.doing if text.endswith("after step 2")]
    assert "(tied " in beside and not any("after step 2" in text for text in screen.said)
