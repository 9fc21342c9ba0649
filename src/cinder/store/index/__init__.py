"""The local index: full-text search over the pages that are kept, whichever database keeps them."""
