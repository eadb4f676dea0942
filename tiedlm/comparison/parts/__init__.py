"""One experiment under several recipes, or at several budgets: what its parts say together."""
