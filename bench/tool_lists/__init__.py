"""What the list of tools costs a model, in cinder and in other MCP servers."""
