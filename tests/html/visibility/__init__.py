"""tests.html.visibility"""
