"""Cleaned HTML to markdown: passes over the tree, and the converter."""
