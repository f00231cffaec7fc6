"""What follows from a tableau: order conditions, stability functions, exact linear equations."""
