"""A checkpoint on the Hugging Face hub, of which only those parts are transferred that are read. Free of torch."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from tiedlm.checkpoints.checkpoint_files import CheckpointFiles, files_of_folder
from tiedlm.checkpoints.refusal import unreadable
from tiedlm.data.hub_access import endpoint, is_offline, prepare_library, status_of
from tiedlm.errors import ConfigError
from tiedlm.talk import Talk

Answer = TypeVar("Answer")


class Transferred:
    """How many bytes of files have come from the hub."""

    def __init__(self) -> None:
        self.num_bytes = 0


class HubFile:
    """A file of the hub, read by range requests."""

    block_size = 64 * 1024
    is_remote = True

    def __init__(self, url: str, name: str, num_bytes: int | None, transferred: Transferred) -> None:
        self.url, self.name = url, name
        self._num_bytes = num_bytes
        self._transferred = transferred

    def size(self) -> int:
        if self._num_bytes is None:
            raise unreadable(self.name, "the hub does not say how large it is")
        return self._num_bytes

    def read(self, start: int, length: int) -> bytes:
        if length == 0:
            return b""
        return _asked(lambda: self._read(start, length), self.name)

    def _read(self, start: int, length: int) -> bytes:
        from huggingface_hub import get_session, hf_raise_for_status
        from huggingface_hub.utils._headers import build_hf_headers

        # whatever a server compresses on the way would not be the bytes that were asked for
        headers = build_hf_headers() | {"Range": f"bytes={start}-{start + length - 1}", "Accept-Encoding": "identity"}
        parts: list[bytes] = []
        with get_session().stream("GET", self.url, headers=headers, follow_redirects=True, timeout=30) as response:
            hf_raise_for_status(response)
            if response.status_code != 206 and (start, length) != (0, self._num_bytes):
                raise unreadable(self.name, "the server gives whole files only: download it and audit the folder")
            for part in response.iter_bytes():
                parts.append(part)
                self._transferred.num_bytes += len(part)
                if sum(map(len, parts)) > length:
                    raise unreadable(self.name, "the server sent more than was asked for")
        found = b"".join(parts)
        if len(found) != length:
            raise unreadable(self.name, f"the server sent {len(found):,} bytes of {length:,}: try again")
        return found


def open_model(model_id: str, revision: str | None, transferred: Transferred, talk: Talk) -> CheckpointFiles:
    """The files of a model on the hub; where that may not be asked or is out of reach, those in the library's cache."""
    prepare_library(talk)
    if is_offline():
        return files_of_folder(_cached(model_id, revision))
    from huggingface_hub import HfApi, hf_hub_url

    api = HfApi(endpoint=endpoint())
    info: Any = _asked(lambda: api.model_info(model_id, revision=revision, files_metadata=True, timeout=30), model_id)
    sizes = {each.rfilename: each.size for each in info.siblings or ()}

    def file(name: str) -> HubFile:
        url = hf_hub_url(model_id, name, revision=info.sha or revision, endpoint=endpoint())
        return HubFile(url, f"{model_id}, {name}", sizes[name], transferred)

    return CheckpointFiles(model_id, frozenset(sizes), file)


def _cached(model_id: str, revision: str | None) -> Path:
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(model_id, revision=revision, local_files_only=True))
    except Exception as error:
        if not _is_of_the_library(error):
            raise
        way_out = "run it with a network (HF_ENDPOINT names a mirror), or give a folder"
        message = f"is no path here, and no model in the cache, and the hub is out of reach: {way_out}"
        raise unreadable(model_id, message) from None


def _asked(ask: Callable[[], Answer], place: str) -> Answer:
    """The answer of the hub; raises ConfigError in place of the library's errors."""
    try:
        return ask()
    except ConfigError:
        raise
    except Exception as error:
        if not _is_of_the_library(error):
            raise
        raise unreadable(place, _explained(error)) from None


def _is_of_the_library(error: Exception) -> bool:
    modules = {kind.__module__.partition(".")[0] for kind in type(error).__mro__}
    return bool(modules & {"huggingface_hub", "httpx", "httpx2", "httpcore", "httpcore2"}) or isinstance(error, OSError)


def _explained(error: Exception) -> str:
    kinds = {kind.__name__ for kind in type(error).__mro__}
    if "GatedRepoError" in kinds:
        return f"is gated: accept its terms at {endpoint()}, then `hf auth login` or set HF_TOKEN"
    if "RevisionNotFoundError" in kinds:
        return "has no such revision"
    if "RepositoryNotFoundError" in kinds:
        return f"is no path here, and no model at {endpoint()} that you may read (HF_TOKEN for a private one)"
    if "HFValidationError" in kinds:
        return "is no path here, and cannot be the id of a model (namespace/name)"
    status = status_of(error)
    said = " ".join(str(error).split())[:160] or type(error).__name__
    return f"{endpoint()} answered {status}: try again" if status else f"{endpoint()} did not answer: {said}"
