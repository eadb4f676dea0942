"""Which parameters of a module are its input and its output embedding."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from tiedlm.errors import ConfigError, Problem

Named = str | nn.Module | Tensor
_OURS = (("input_embedding", "output_embedding"), ("input_table", "output_table"))


@dataclass(frozen=True)
class Found:
    """A matrix with its name; `adapter` is what PEFT wraps it in, or ""."""

    name: str
    weight: Tensor
    adapter: str = ""


@dataclass(frozen=True)
class FoundPair:
    """The two; `output` is None where no module of its own makes the scores."""

    input: Found
    output: Found | None
    how: str


def find_embeddings(module: nn.Module, given_input: Named | None, given_output: Named | None) -> FoundPair:
    """As they were named, else by their getters, else by their sizes. Raises ConfigError where that does not tell."""
    if given_input is not None:
        named = None if given_output is None else _named(module, given_output, "output")
        return FoundPair(_named(module, given_input, "input"), named, "the arguments")
    if given_output is not None:
        raise ConfigError(Problem("input", "is needed where output= is given"))
    return _by_getters(module) or _of_tying(module) or _by_sizes(module)


def _named(module: nn.Module, given: Named, argument: str) -> Found:
    found: Any = given
    if isinstance(given, str):
        try:
            found = (
                module.get_submodule(given) if given in dict(module.named_modules()) else module.get_parameter(given)
            )
        except AttributeError:
            raise ConfigError(Problem(argument, f"{given!r} is neither a module nor a parameter of it")) from None
    return _of(module, found)


def _of(root: nn.Module, found: nn.Module | Tensor) -> Found:
    """The matrix of a module, through the wrappers of PEFT; or the tensor itself."""
    if isinstance(found, Tensor):
        names = [name for name, each in root.named_parameters(remove_duplicate=False) if each is found]
        return Found(names[0] if names else "a tensor that is no parameter", found)
    path = next((name for name, each in root.named_modules(remove_duplicate=False) if each is found), "")
    inner: Any = found
    adapter = ""
    while True:
        below = _below(inner)
        if below is None:
            break
        step, inner, adapter = below[0], below[1], adapter or below[2]
        path = f"{path}.{step}" if path else step
    weight = getattr(inner, "weight", None)
    if hasattr(inner, "parametrizations") and "weight" in inner.parametrizations:
        weight = getattr(inner.parametrizations.weight, "original", None)
        if weight is None:  # as weight_norm does
            message = f"the weight of {path or type(found).__name__} is made of several parameters"
            raise ConfigError(Problem("", f"{message}: name the two, one of these among them, by input= and output="))
        path = f"{path}.parametrizations"
    if not isinstance(weight, Tensor):
        raise ConfigError(Problem("", f"{path or type(found).__name__} has no weight: name the two by input=, output="))
    return Found(f"{path}.weight" if path else "weight", weight, adapter)


def _below(module: Any) -> tuple[str, nn.Module, str] | None:
    """What a wrapper of PEFT uses in place of the module that it wraps, told by what it has."""
    copies = getattr(module, "modules_to_save", None)
    if isinstance(copies, nn.ModuleDict) and hasattr(module, "original_module"):
        active = getattr(module, "active_adapters", None) or [getattr(module, "active_adapter", "default")]
        name = active[0] if isinstance(active, list | tuple) else active
        if name in copies:
            return f"modules_to_save.{name}", copies[name], "modules_to_save"
        return "original_module", module.original_module, ""
    base = getattr(module, "base_layer", None)
    if isinstance(base, nn.Module):
        return "base_layer", base, "a LoRA adapter" if hasattr(module, "lora_A") else "an adapter"
    return None


def unwrapped(module: nn.Module) -> Iterator[nn.Module]:
    """The module, and what DDP, compile and PEFT wrap, from outside in."""
    seen: set[int] = set()
    inner: Any = module
    while isinstance(inner, nn.Module) and id(inner) not in seen:
        seen.add(id(inner))
        yield inner
        inner = (
            getattr(inner, "module", None) or getattr(inner, "_orig_mod", None) or getattr(inner, "base_model", None)
        )


def _by_getters(module: nn.Module) -> FoundPair | None:
    for each in unwrapped(module):
        first = _asked(each, "get_input_embeddings")
        if first is not None:
            second = _asked(each, "get_output_embeddings")
            output = None if second is None else _of(module, second)
            return FoundPair(_of(module, first), output, "get_input_embeddings and get_output_embeddings")
    return None


def _asked(module: nn.Module, name: str) -> nn.Module | None:
    getter = getattr(module, name, None)
    if not callable(getter):
        return None
    try:
        found = getter()
    except Exception:  # noqa: BLE001 (so a model of transformers says that it has none; others want arguments)
        return None
    return found if isinstance(found, nn.Module) else None


def _of_tying(module: nn.Module) -> FoundPair | None:
    """Of a model of this package: its tying owns the two, and has no modules for them."""
    parameters = dict(module.named_parameters(remove_duplicate=False))
    for first, second in _OURS:
        inputs = [name for name in parameters if name.split(".")[-2:] == ["tying", first]]
        if len(inputs) == 1:
            output = inputs[0].removesuffix(first) + second
            found = Found(output, parameters[output]) if output in parameters else None
            return FoundPair(Found(inputs[0], parameters[inputs[0]]), found, "the tying of the model")
    return None


def _by_sizes(module: nn.Module) -> FoundPair:
    tables = [each for each in module.modules() if isinstance(each, nn.Embedding)]
    heads = [each for each in module.modules() if isinstance(each, nn.Linear)]
    pairs = [(table, head) for table in tables for head in heads if table.num_embeddings == head.out_features]
    fitting = [(table, head) for table, head in pairs if table.embedding_dim == head.in_features] or pairs
    how = "an nn.Embedding and an nn.Linear of one vocabulary"
    if len(fitting) == 1:
        return FoundPair(_of(module, fitting[0][0]), _of(module, fitting[0][1]), how)
    if not fitting and len(tables) == 1:
        return FoundPair(_of(module, tables[0]), None, "its only nn.Embedding")
    names = ", ".join(name for name, each in module.named_modules() if isinstance(each, nn.Embedding | nn.Linear))
    what = f"several could be meant ({names[:200]})" if names else "it has no nn.Embedding"
    raise ConfigError(Problem("", f"which two matrices are meant? {what}: name them by input= and output="))
