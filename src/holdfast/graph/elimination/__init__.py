"""Large sparse systems solved by tables: one operation of the graph in the place of millions."""
