"""tests.documents"""
