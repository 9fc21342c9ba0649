"""tests.html.css"""
