"""One file a subject of a report."""
