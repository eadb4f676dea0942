"""A comparison in each format: terminal, HTML, Markdown, LaTeX, CSV, plots."""
