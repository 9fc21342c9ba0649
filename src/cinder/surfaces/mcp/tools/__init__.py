"""The tools, one subject a module; `cinder.surfaces.mcp.registry` lists them."""
