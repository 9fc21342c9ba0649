"""tests.extraction.pages"""
