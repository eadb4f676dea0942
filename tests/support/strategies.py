"""Every strategy, in the forms that a test of the contract takes."""

STRATEGIES: list[dict[str, object]] = [
    {"type": "tied"},
    {"type": "tied", "output_bias": True, "input_scale": "sqrt_dim"},
    {"type": "untied"},
    {"type": "untied", "output_init": "copy"},
    {"type": "untied", "output_init": "zero", "output_bias": True},
    {"type": "soft"},
    {"type": "soft", "norm": "mean_square", "strength": 50.0},
    {"type": "partial_vocabulary", "shared": 0.5},
    {"type": "partial_vocabulary", "shared": 7, "share": "rare", "output_bias": True},
    {"type": "partial_dimensions", "shared": 3},
    {"type": "projected"},
    {
        "type": "projected",
        "projection_init": "normal",
        "bias": True,
        "activation": "gelu",
        "norm": True,
        "strength": 0.1,
    },
    {"type": "factorized", "width": 3},
    {"type": "factorized", "width": 5, "share": "table_and_map"},
    {"type": "factorized", "width": 16, "share": "nothing", "input_scale": "sqrt_dim"},
    {"type": "progressive"},
    {"type": "progressive", "direction": "untie"},
]
