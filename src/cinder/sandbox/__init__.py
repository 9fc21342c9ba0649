"""The sandbox: parses pages in child processes with time and memory limits."""
