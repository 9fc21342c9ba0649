"""Web search: providers behind one protocol."""
