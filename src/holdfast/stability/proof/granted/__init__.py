"""What a bound takes for granted: that the equations which are run obey their law, and that the motion exists."""
