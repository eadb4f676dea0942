"""Models alone, as others published them: counted by `tiedlm count-params`, and a start for a config of your own."""
