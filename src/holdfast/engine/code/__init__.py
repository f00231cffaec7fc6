"""From a field to machine code: written, compiled, linked, kept, loaded."""
