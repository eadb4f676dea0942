"""The configurations that come with tiedlm: experiments, runs and, under shapes/, models alone."""
