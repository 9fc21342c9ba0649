"""tests.api.schemas"""
