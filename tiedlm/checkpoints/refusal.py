"""Why a checkpoint is not read. Free of torch."""

from tiedlm.errors import ConfigError, Problem


def unreadable(place: object, message: str) -> ConfigError:
    """The error for a file that is damaged, or not what its name says: the place, what is wrong, the way out."""
    return ConfigError(Problem("", message), source=str(place))
