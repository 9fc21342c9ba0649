"""Frozen values that every part of cinder exchanges, without behaviour of their own."""
