"""Points whose masses change, and what the air does to them."""
