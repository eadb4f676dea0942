"""SIGKILL at random moments of a comparison, which is started again until it is finished: called by `kill_test`."""
# ruff: noqa: T201 (its output is what it prints)

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from watched_comparison import Comparison

CONFIG = """
name: kills
data: {corpus: {type: text, file: %s, fractions: [0.8, 0.1, 0.1]}, tokenizer: {type: byte}, seq_len: 16}
model: {num_layers: 1, dim: 16, num_heads: 2, dropout: 0.1}
training: {steps: %d, batch_size: 4, micro_batch_size: 2, learning_rate: 1e-3, warmup: 3, precision: fp32, device: cpu,
           num_threads: 1, checkpoint_every: 7, evaluate_every: 21}
variants: {%s}
"""
VARIANTS = {"tied": "{}", "untied": "{model: {tying: {type: untied}}}"}


class KillTest:
    """Kills until there were enough; each comparison that comes to its end is held against the undisturbed one."""

    def __init__(self, folder: Path, asked: argparse.Namespace) -> None:
        self.folder, self.asked = folder, asked
        self.random = random.Random(asked.seed)
        self.kills: Counter[tuple[str, str]] = Counter()
        self.finished = self.starts = self.waits = 0
        self.faults: list[str] = []
        self.config = folder / "kills.yaml"
        text = folder / "text.txt"
        text.write_text("".join(f"Paragraph {number} says ē, and {number**2} too.\n\n" for number in range(40)))
        variants = ", ".join(f"{name}: {VARIANTS[name]}" for name in asked.variants)
        self.config.write_text(CONFIG % (text, asked.steps, variants))

    def carry_out(self) -> None:
        """The undisturbed comparison, then the killed ones."""
        began = time.monotonic()
        undisturbed = self._new("undisturbed")
        undisturbed.start()
        if undisturbed.ends_within(600) != 0:
            sys.exit(f"the undisturbed comparison failed:\n{undisturbed.said.read_text()}")
        longest = (time.monotonic() - began) / len(self.asked.variants)
        expected = undisturbed.outcome()
        print(f"undisturbed: {time.monotonic() - began:.1f} s, {len(expected)} things to hold against", flush=True)
        while sum(self.kills.values()) < self.asked.kills:
            some = self._new(f"killed-{self.finished}")
            self._until_finished(some, longest)
            self._hold_against(some.outcome(), expected)
            self.finished += 1

    def _new(self, name: str) -> Comparison:
        return Comparison(self.folder / name, self.config, self.asked.steps)

    def _until_finished(self, some: Comparison, longest: float) -> None:
        saved: dict[str, int] = {}
        while True:
            some.start()
            self.starts += 1
            while (code := some.ends_within(self._patience(longest))) is None:
                self._kill(some)
            now = some.saved()
            lost = {name: (step, now.get(name, 0)) for name, step in saved.items() if now.get(name, 0) < step}
            if lost:
                self.faults.append(f"checkpoints were lost: {lost}")
            saved = now
            if code == 0:
                break
            if code not in (1, -signal.SIGKILL):
                self.faults.append(f"a comparison ended with {code}")
        said = some.said.read_text()
        self.waits += said.count("waiting for process")
        if "Traceback" in said:
            self.faults.append(f"a traceback was printed:\n{said}")
        deadline = time.monotonic() + 30
        while some.living_workers() and time.monotonic() < deadline:
            time.sleep(0.1)
        if some.living_workers():
            self.faults.append(f"processes of runs are left: {some.living_workers()}")

    def _patience(self, longest: float) -> float:
        enough = sum(self.kills.values()) >= self.asked.kills
        return 600.0 if enough else self.random.uniform(0, longest)

    def _kill(self, some: Comparison) -> None:
        """The comparison, the run under way, or both at once, as a machine that loses its power does."""
        assert some.process is not None
        worker, moment = some.worker(), some.moment()
        victim = self.random.choice(["comparison", "run", "both"]) if worker else "comparison"
        if victim != "comparison":
            assert worker is not None
            os.kill(worker, signal.SIGKILL)
        if victim != "run":
            some.process.kill()
        self.kills[victim, moment] += 1

    def _hold_against(self, outcome: dict[str, Any], expected: dict[str, Any]) -> None:
        for key in expected.keys() | outcome.keys():
            if outcome.get(key) != expected.get(key):
                self.faults.append(
                    f"{key} differs from the undisturbed one:\n{_first_difference(outcome, expected, key)}"
                )

    def tell(self) -> None:
        """The figures."""
        print(f"{sum(self.kills.values())} kills, {self.starts} starts, {self.finished} comparisons finished")
        for (victim, moment), count in sorted(self.kills.items()):
            print(f"  {count:>3} x {victim} while {moment}")
        print(f"a start waited {self.waits} times for the run of the one before to save and end")
        print(
            "\n".join(self.faults) or "weights, scores, logs, results and files are those of the undisturbed comparison"
        )


def _first_difference(outcome: dict[str, Any], expected: dict[str, Any], key: str) -> str:
    one, other = (json.dumps(each.get(key), indent=1).splitlines() for each in (outcome, expected))
    pairs = [f"  {mine} instead of {theirs}" for mine, theirs in zip(one, other, strict=False) if mine != theirs]
    return pairs[0] if pairs else f"  {len(one)} lines instead of {len(other)}"


def main() -> None:
    """Exit code 1 where anything differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50, help="default: %(default)s")
    parser.add_argument("--steps", type=int, default=300, help="of each run; default: %(default)s")
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS), help="default: all")
    parser.add_argument("--seed", type=int, default=0, help="of the moments; default: %(default)s")
    asked = parser.parse_args()
    if not Path("/proc/self/task").is_dir():
        sys.exit("the processes of runs are looked up in /proc, which this system has not")
    with tempfile.TemporaryDirectory(prefix="tiedlm-kill-test-") as folder:
        test = KillTest(Path(folder), asked)
        test.carry_out()
        test.tell()
    sys.exit(bool(test.faults))


if __name__ == "__main__":
    main()
