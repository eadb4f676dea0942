"""Charts as data, and their drawing as SVG."""
