"""Fast or memory-saving replacements of plain functions; each file names the plain function that it must equal."""
