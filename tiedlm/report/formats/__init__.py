"""Terminal, HTML, Markdown, LaTeX, CSV, plots."""
