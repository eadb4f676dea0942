"""The public names of `tiedlm`, for programs and notebooks: what the commands do, as functions and objects."""
