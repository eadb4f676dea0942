"""Where a config file is looked for: as a path, then among those that come with the package. Free of torch."""

from importlib import resources
from pathlib import Path

from tiedlm.errors import ConfigError, Problem


def find_config(name: str | Path) -> Path:
    """A config by path, else by name among those that come with the package ("tied.yaml", "quickstart", "gpt2").

    Raises ConfigError that lists the packaged ones.
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
    names = ", ".join(key.removesuffix(".yaml") for key in packaged_configs())
    raise ConfigError(Problem("", f"no such file, and none of the packaged configs: {names}"), source=wanted[:200])


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
    root = Path(str(resources.files("tiedlm.configs")))
    return {path.relative_to(root).as_posix(): path for path in sorted(root.rglob("*.yaml"))}
