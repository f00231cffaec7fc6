"""The equations as people read them."""
