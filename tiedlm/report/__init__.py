"""Finished results as tables, Markdown and JSON."""
