"""Frozen values that all parts of cinder exchange."""
