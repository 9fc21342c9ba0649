"""The MCP tools, one subject a module; `cinder.mcp.tool_calls` lists them."""
