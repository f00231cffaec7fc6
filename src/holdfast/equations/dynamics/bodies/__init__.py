"""Bodies on the graph: a tree of elementary frames, and the recursions that give masses and bias of the whole."""
