"""Numbers, tables and sentences made from a comparison, the same for every format."""
