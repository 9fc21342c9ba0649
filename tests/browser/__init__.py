"""tests.browser"""
