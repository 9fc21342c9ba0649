"""cinder: a self-hosted web platform for AI agents and the people who run them."""

__version__ = "0.1.0"
