"""A hub on loopback, so that tests go the whole way of the libraries that ask one, without a network."""

import contextlib
import hashlib
import http.server
import io
import json
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq

COMMIT = "b08601e04326c79dfdd32d625aee71d232d685c3"

Columns = Mapping[str, Sequence[Any]]


class FileHub:
    """One repository with these files, `api` being where the hub tells of it; and how it fails.

    `cut_short` sends half of each table and hangs up, `num_busy` downloads of tables are first answered with 503;
    without `ranges` whole files are sent whatever was asked for. `requests` lists what was asked for.
    """

    repository: str
    files: dict[str, bytes]
    requests: list[str]
    api = "models"
    path = ""
    cut_short = False
    num_busy = 0
    ranges = True
    is_gated = False

    @contextlib.contextmanager
    def serve(self) -> Iterator[str]:
        """Answer until the block ends; gives the endpoint."""
        hub = self

        class Handler(_Handler):
            served = hub

        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            thread = threading.Thread(target=server.serve_forever, args=(0.05,))
            thread.start()
            try:
                yield f"http://127.0.0.1:{server.server_port}"
            finally:
                server.shutdown()
                thread.join()


class ModelHub(FileHub):
    """One model."""

    def __init__(self, repository: str, files: Mapping[str, bytes]) -> None:
        self.repository, self.files, self.requests = repository, dict(files), []


@dataclass
class Hub(FileHub):
    """One data set of Parquet files, `configs[config][split]` a table's columns."""

    repository: str
    configs: Mapping[str, Mapping[str, Columns]]
    cut_short: bool = False
    num_busy: int = 0
    requests: list[str] = field(default_factory=list)
    api = "datasets"
    path = "/datasets"

    def __post_init__(self) -> None:
        self.files = {
            f"{config}/{split}-00000-of-00001.parquet": _parquet(columns)
            for config, splits in self.configs.items()
            for split, columns in splits.items()
        }
        self.files["README.md"] = self._card().encode()

    def _card(self) -> str:
        """The front matter that tells `datasets` which file is which split."""
        configs = [
            {"config_name": config, "data_files": [{"split": name, "path": f"{config}/{name}-*"} for name in splits]}
            for config, splits in self.configs.items()
        ]
        return f"---\n{json.dumps({'configs': configs})}\n---\n"


def _parquet(columns: Columns) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table(dict(columns)), buffer)
    return buffer.getvalue()


class _Handler(http.server.BaseHTTPRequestHandler):
    """The few addresses that `datasets` and `huggingface_hub` ask for."""

    protocol_version = "HTTP/1.1"
    served: FileHub

    def do_GET(self) -> None:
        """Files, the list of files, and what the repository is."""
        hub, path = self.served, unquote(urlsplit(self.path).path)
        hub.requests.append(f"{self.command} {path}")
        api, resolve = f"/api/{hub.api}/{hub.repository}", f"{hub.path}/{hub.repository}/resolve/[^/]+/(.+)"
        if hub.is_gated and path.startswith((api, f"{hub.path}/{hub.repository}")):
            self._send({"error": "gated"}, 403, "GatedRepo")
        elif found := re.fullmatch(resolve, path):
            self._send_file(found[1])
        elif found := re.fullmatch(rf"{api}/tree/[^/]+/?(.*)", path):
            self._send(self._list(found[1]))
        elif re.fullmatch(rf"{api}(/revision/[^/]+)?", path):
            siblings = [{"rfilename": name, "size": len(data)} for name, data in hub.files.items()]
            self._send({"_id": "1", "id": hub.repository, "sha": COMMIT, "private": False, "siblings": siblings})
        else:
            self._send({"error": "no such thing"}, 404, "RepoNotFound")

    def do_HEAD(self) -> None:
        """As GET, without a body."""
        self.do_GET()

    def do_POST(self) -> None:
        """What is known of some paths."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        asked = json.loads(body)["paths"] if body.startswith("{") else parse_qs(body).get("paths", [])
        self._send([self._entry(name) for name in asked if name in self.served.files])

    def _list(self, folder: str) -> list[dict[str, Any]]:
        """What lies directly in a folder of the repository."""
        paths = [PurePosixPath(name) for name in self.served.files]
        files = [self._entry(str(path)) for path in paths if path.parent == PurePosixPath(folder)]
        folders = {str(path.parent) for path in paths if path.parent.parent == PurePosixPath(folder)} - {".", folder}
        return files + [{"type": "directory", "path": name, "size": 0, "oid": "0" * 40} for name in sorted(folders)]

    def _entry(self, name: str) -> dict[str, Any]:
        data = self.served.files[name]
        return {"type": "file", "path": name, "size": len(data), "oid": hashlib.sha1(data).hexdigest()}

    def _send_file(self, name: str) -> None:
        data = self.served.files.get(name)
        if data is None:
            self._send({"error": "no such file"}, 404, "EntryNotFound")
            return
        if self.served.num_busy and self.command == "GET" and name.endswith(".parquet"):
            self.served.num_busy -= 1
            self._send({"error": "busy"}, 503)
            return
        cut = self.served.cut_short and name.endswith(".parquet")
        headers = {"ETag": f'"{hashlib.sha1(data).hexdigest()}"', "X-Repo-Commit": COMMIT}
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if asked and self.served.ranges:
            start, last = int(asked[1]), min(int(asked[2]), len(data) - 1)
            headers["Content-Range"] = f"bytes {start}-{last}/{len(data)}"
            part = data[start : last + 1]
            self._respond(206, len(part), headers, part)
            return
        self._respond(200, len(data), headers, data[: len(data) // 2] if cut else data)
        self.close_connection = cut

    def _send(self, value: object, code: int = 200, error: str = "") -> None:
        data = json.dumps(value).encode()
        self._respond(code, len(data), {"X-Error-Code": error} if error else {}, data)

    def _respond(self, code: int, length: int, headers: dict[str, str], data: bytes) -> None:
        self.send_response(code)
        for key, value in {"Content-Length": str(length), **headers}.items():
            self.send_header(key, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Keep quiet."""
