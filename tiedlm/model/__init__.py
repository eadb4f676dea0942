"""The decoder between and around the two embeddings."""
