"""The sections of a report, one file a question; all.py lists them."""
