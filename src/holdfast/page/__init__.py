"""One study, and its page."""
