"""Fetches a URL's bytes: the engines, and the escalation from one engine to the next."""
