"""Searches the web and the saved pages: queries providers, fuses, filters and ranks their hits."""
