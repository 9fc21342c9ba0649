"""tests.extraction"""
