"""The MCP tools; `cinder.mcp.server` lists them."""
