"""Other forms of the same problem: Hamilton's, and the family of all systems that keep a program."""
