"""Taylor forms in doubles, many cells at a time, in native code that no problem has to compile."""
