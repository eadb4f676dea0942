"""Memory and counts of what has not run."""
