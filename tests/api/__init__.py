"""tests.api"""
