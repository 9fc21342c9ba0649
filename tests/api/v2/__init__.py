"""tests.api.v2"""
