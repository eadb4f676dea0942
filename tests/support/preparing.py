"""Text prepared by a process of its own, and what that process says of it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

PROGRAM = """
import json, sys
from pathlib import Path
from tiedlm.config.base import parse
from tiedlm.data.config import DataConfig
from tiedlm.data.prepare import prepare
data = prepare(parse(DataConfig, json.loads(sys.argv[1])), Path(sys.argv[2]))
names, units = ("train", "validation", "test"), ("words", "rows", "bytes", "documents")
imported = sorted({"datasets", "tokenizers", "torch", "scipy"} & set(sys.modules))
print(json.dumps({
    "tokens_sha256": data.tokens_sha256, "caption": data.corpus.caption, "details": data.corpus.details,
    "corpus_sha256": data.corpus.sha256,
    "counts": {name: {unit: getattr(data.split(name), unit) for unit in units} for name in names},
    "notes": data.notes, "imported": imported, "text": data.decode(data.split("test").ids[1:].tolist()),
}))
"""


def start_preparing(config: dict[str, Any], cache: Path, **environment: str) -> subprocess.Popen[str]:
    """A process that prepares the text of a data config."""
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, json.dumps(config), str(cache)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent.parent), **environment},
        stdout=subprocess.PIPE,
        text=True,
    )


def answer_of(process: subprocess.Popen[str]) -> Any:
    """What such a process says once it has ended: hashes and counts, and the slow libraries that it imported."""
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    return json.loads(out)


def prepare_elsewhere(config: dict[str, Any], cache: Path, **environment: str) -> Any:
    """The answer of one process."""
    return answer_of(start_preparing(config, cache, **environment))
