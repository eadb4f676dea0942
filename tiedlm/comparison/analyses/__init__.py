"""One file a question that is asked of finished runs."""
