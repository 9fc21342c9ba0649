"""Crawls by real processes that are killed, frozen and cut off from their database."""
