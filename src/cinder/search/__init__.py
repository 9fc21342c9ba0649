"""Web search: providers behind one protocol. The local index is the store's."""
