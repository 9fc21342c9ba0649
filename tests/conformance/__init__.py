"""The official MCP conformance suite, run against cinder; `python -m tests.conformance` runs it."""
