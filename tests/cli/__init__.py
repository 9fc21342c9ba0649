"""tests.cli"""
