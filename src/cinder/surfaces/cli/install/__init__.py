"""`cinder mcp install`: enters cinder in the file from which an MCP client learns its servers."""

from cinder.surfaces.cli.install.command import install

__all__ = ["install"]
