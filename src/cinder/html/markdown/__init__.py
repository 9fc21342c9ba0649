"""Converts cleaned HTML to markdown: passes over the tree, then the converter."""
