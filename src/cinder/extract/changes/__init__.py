"""How two versions of a page differ."""
