"""Many runs of the same equations."""
