"""tests.verdicts"""
