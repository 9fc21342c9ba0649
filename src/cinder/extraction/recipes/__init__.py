"""Recipes: learned from the proved values of a page, and applied to other pages of its site."""
