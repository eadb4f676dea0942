"""Scoring every token of a split exactly once."""
