"""tests.html.metadata"""
