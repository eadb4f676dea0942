"""Train one language model with tied and with untied embeddings, and compare the two honestly."""
