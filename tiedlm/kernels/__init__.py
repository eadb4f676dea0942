"""What is fast and not plain, each beside the plain function that it must equal."""
