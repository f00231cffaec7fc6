"""One run: what is asked, how it is made, what came out."""
