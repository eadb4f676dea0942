"""Variants x seeds: planning, running and comparing them."""
