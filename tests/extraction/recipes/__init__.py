"""tests.extraction.recipes"""
