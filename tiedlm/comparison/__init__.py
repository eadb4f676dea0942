"""Finished runs held against each other: differences, how sure they are, and what follows from them."""
