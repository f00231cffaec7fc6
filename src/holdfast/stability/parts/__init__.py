"""A run certified part by part: its phases, and stretches between what no proof crosses."""
