"""Teaches the main-content scorer from labelled pages; see docs/decisions/0012."""
