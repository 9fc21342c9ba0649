"""The API held against its own description: what it takes, what it refuses, what it answers."""
