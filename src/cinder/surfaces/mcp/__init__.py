"""MCP: cinder's tools and saved pages for AI agents, over stdio and streamable HTTP."""
