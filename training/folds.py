"""Folds: parts of the pages such that all pages of a site are in one."""

import hashlib


def fold_of(site: str, folds: int) -> int:
    """Return the number of the fold that a site's pages are in."""
    return int(hashlib.sha256(f"{folds} {site}".encode()).hexdigest(), 16) % folds
