"""Text, tokenizers, token files and batches. Free of torch."""
