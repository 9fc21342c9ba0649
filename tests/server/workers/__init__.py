"""tests.server.workers"""
