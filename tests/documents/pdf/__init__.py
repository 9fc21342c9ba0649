"""tests.documents.pdf"""
