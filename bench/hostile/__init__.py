"""Hostile pages and files, each within its limits, while ordinary scrapes run beside them."""
