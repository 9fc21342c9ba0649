"""Passages of a page for a question: cut by structure, ranked by what is asked."""
