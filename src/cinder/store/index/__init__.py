"""The local index: full-text search over saved pages."""
