"""One question about finished runs in each file: the schema of its answer, and `measure`, which answers it."""
