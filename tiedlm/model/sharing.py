"""Which stored layer acts at each depth: sharing across layers is an order over them. Free of torch."""

from tiedlm.model.config import LayerOrder, LayerSharing


def layer_order(sharing: LayerSharing, num_layers: int) -> tuple[int, ...]:
    """The stored layer of each of `num_layers` depths, counted from 0 in the order of first use.

    none: (0, 1, 2, 3). all: (0, 0, 0, 0) (Lan et al. 2020, ALBERT; Dehghani et al. 2019). cycle 2: (0, 1, 0, 1),
    groups 2: (0, 0, 1, 1) ("cycle" and "sequence" of Takase & Kiyono 2021). Where a number does not divide the depths,
    the last round is short and groups differ by one.
    """
    match sharing:
        case "none":
            return tuple(range(num_layers))
        case "all":
            return (0,) * num_layers
        case LayerOrder(cycle=int(length)):
            return tuple(depth % length for depth in range(num_layers))
        case LayerOrder(groups=number):
            assert number is not None  # one of the two is given
            return tuple(depth * number // num_layers for depth in range(num_layers))
