"""tests.models"""
