"""One module per algorithm: the order of its steps, and the arithmetic of each."""
