"""The MCP surface: server, tools, resources, prompts and tasks."""
