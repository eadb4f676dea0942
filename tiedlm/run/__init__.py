"""One run: its folder, its process, its loop, its result."""
