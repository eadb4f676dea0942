"""How the input and the output embedding of a language model relate."""
