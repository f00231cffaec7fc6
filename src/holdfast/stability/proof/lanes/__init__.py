"""The region cover in native Taylor forms, many cells at a time."""
