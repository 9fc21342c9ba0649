"""tests.api.v1"""
