"""Signs that a comparison is too young, or that its recipe cripples an arm."""
