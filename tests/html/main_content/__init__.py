"""tests.html.main_content"""
