"""One run of training, from the first step to the last."""
