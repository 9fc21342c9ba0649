"""tests.html.markdown"""
