"""Recipes in the database."""
