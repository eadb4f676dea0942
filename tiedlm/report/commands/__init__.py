"""What single commands print."""
