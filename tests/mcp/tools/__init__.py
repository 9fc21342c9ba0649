"""tests.mcp.tools"""
