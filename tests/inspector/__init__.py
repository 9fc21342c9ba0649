"""The MCP inspector against a real server: lists the tools strictly, and calls each."""
