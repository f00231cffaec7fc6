"""What a program leaves free: its directions, its states of rest, and whether it runs away."""
