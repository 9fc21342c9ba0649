"""Getting a URL's bytes: engines, the ladder that chooses between them, and the verdict."""
