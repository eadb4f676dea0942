"""When two models count as of one size, and what sets the size of a body. Free of torch."""

TOLERANCE = 0.01
"""Of the baseline's parameters: a model that is no further off counts as one of its size."""

INNER_WIDTH = {"transformer": "feed_forward_dim", "lstm": "hidden_dim"}
"""The key for the inner width of a body's layers, by the model's type."""
