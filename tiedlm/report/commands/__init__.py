"""What single commands print on the terminal, one file a command."""
