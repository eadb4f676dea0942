"""Where a config file is looked for: as a path, then among those that come with the package. Free of torch."""

from importlib import resources
from pathlib import Path

from tiedlm.errors import ConfigError, Problem
from tiedlm.paths import obstacle, shortened, user_path

SCHEMA_FILE = "tiedlm.schema.json"
"""The JSON Schema of config files, which lies beside the packaged ones; their first lines name it to editors."""


def find_config(name: str | Path) -> Path:
    """A config by path, else by name among those that come with the package ("tied.yaml", "quickstart", "gpt2").

    What has the name of a packaged one and is no config itself (a folder, a script) does not hide it.
    Raises ConfigError that names those whose names are near.
    """
    wanted = str(name)
    found = _find(user_path(wanted), wanted)
    if found is not None:
        return found
    why = obstacle(user_path(wanted)) or "no such file"
    message = f"{why}, and no packaged config of that name{near_names(wanted)} (`tiedlm configs` lists them)"
    raise ConfigError(Problem("", message), source=shortened(wanted))


def find_extended(name: str, path: Path) -> Path:
    """The config that the one at `path` extends: by path from its folder, else by name. Raises ConfigError."""
    wanted = user_path(name, "extends", str(path), base=path.parent)
    found = _find(wanted, name)
    if found is None:
        why = obstacle(wanted)
        there = f"{shortened(wanted)} does not exist" if why is None else f"{shortened(wanted)}: {why}"
        message = f"{there}, and no config of that name comes with the package{near_names(str(wanted))}"
        raise ConfigError(Problem("extends", message), source=str(path))
    return found


def _find(path: Path, wanted: str) -> Path | None:
    """The file at `path`, else the packaged config that is called `wanted`."""
    packaged = find_packaged(wanted)
    there = is_there(path)
    if there and (packaged is None or path.suffix == ".yaml" or _holds_mapping(path)) and not path.is_dir():
        return path
    if packaged is None and there:
        raise ConfigError(Problem("", "is a folder, not a config file"), source=str(path))
    return packaged


def _holds_mapping(path: Path) -> bool:
    from tiedlm.config.file import read_mapping  # which finds what a config extends by this module

    try:
        return bool(read_mapping(path))
    except ConfigError:
        return False


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


def which_one(name: str) -> str | None:
    """What a name was taken for, in a sentence, where a packaged config and a file here may both be meant."""
    packaged, here = find_packaged(name), Path(name)
    if packaged is None or here.suffix == ".yaml":  # a name with its suffix is the file here, where there is one
        return None
    if is_there(here) and not here.is_dir():
        if _holds_mapping(here):
            return f"{name} is the file here; the packaged config is {name}.yaml"
        return f"{name} is the packaged config; the file {name} here holds no config"
    beside = Path(f"{name}.yaml")
    if beside.is_file() and not beside.samefile(packaged):
        return f"{name} is the packaged config; the file here is {beside}"
    return None


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


def is_packaged(path: Path) -> bool:
    """Whether a config is one of those that come with the package."""
    return path.resolve().is_relative_to(_root().resolve())


def _root() -> Path:
    return Path(str(resources.files("tiedlm.configs")))
