"""Where a config file is looked for: as a path, then among those that come with the package. Free of torch."""

from importlib import resources
from pathlib import Path

from tiedlm.errors import ConfigError, Problem

SCHEMA_FILE = "tiedlm.schema.json"
"""The JSON Schema of config files, which lies beside the packaged ones; their first lines name it to editors."""


def find_config(name: str | Path) -> Path:
    """A config by path, else by name among those that come with the package ("tied.yaml", "quickstart", "gpt2").

    Raises ConfigError that names those whose names are near.
    """
    path = Path(name)
    there = is_there(path)
    if there and not path.is_dir():
        return path
    wanted = str(name)
    packaged = find_packaged(wanted)
    if packaged is not None:
        return packaged
    if there:
        raise ConfigError(Problem("", "is a folder, not a config file"), source=wanted)
    message = f"no such file, and no packaged config of that name{near_names(wanted)} (`tiedlm configs` lists them)"
    raise ConfigError(Problem("", message), source=wanted[:200])


def near_names(wanted: str) -> str:
    """Files beside the one that was meant, and packaged configs, whose names are near: "; did you mean ..?"."""
    import difflib

    folder = Path(wanted).parent
    beside = [str(path) for path in sorted(folder.glob("*.yaml"))] if is_there(folder) else []
    packaged = [key.removesuffix(".yaml") for key in packaged_configs()]
    spelled = {key.removesuffix(".yaml").rpartition("/")[2].lower(): key for key in [*packaged, *beside]}
    name = Path(wanted).name.removesuffix(".yaml").removesuffix(".yml").lower()
    near = [spelled[key] for key in difflib.get_close_matches(name[:100], spelled, n=3, cutoff=0.6)]
    return f"; did you mean {' or '.join(near)}?" if near else ""


def find_packaged(name: str) -> Path | None:
    """The config of that name that comes with the package, if there is one."""
    packaged = packaged_configs()
    candidates = (name, f"{name}.yaml", f"shapes/{name}", f"shapes/{name}.yaml")
    return next((packaged[candidate] for candidate in candidates if candidate in packaged), None)


def is_there(path: Path) -> bool:
    """Whether a path exists; one that cannot be looked up does not."""
    try:
        return path.exists()
    except OSError:  # a name too long, a folder that may not be looked into
        return False


def packaged_configs() -> dict[str, Path]:
    """The configs that come with the package, by name ("tied.yaml", "shapes/gpt2.yaml")."""
    root = _root()
    return {path.relative_to(root).as_posix(): path for path in sorted(root.rglob("*.yaml"))}


def packaged_schema() -> Path:
    """The file of the JSON Schema that comes with the package."""
    return _root() / SCHEMA_FILE


def _root() -> Path:
    return Path(str(resources.files("tiedlm.configs")))
