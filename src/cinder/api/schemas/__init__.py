"""Request and response of each resource, as REST, MCP and the command line share them."""
