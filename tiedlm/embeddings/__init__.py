"""What the two matrices of a trained model look like, each by itself and one beside the other."""
