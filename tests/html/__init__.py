"""tests.html"""
