"""tests.mcp"""
