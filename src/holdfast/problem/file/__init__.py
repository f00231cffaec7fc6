"""Problem files: read with the place of every error, and written back."""
