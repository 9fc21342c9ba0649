"""tests.sandbox"""
