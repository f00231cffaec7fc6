"""The schemes themselves, as exact numbers."""
