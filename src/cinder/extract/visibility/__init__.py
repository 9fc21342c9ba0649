"""The page as a visitor sees it: late parts in place, hidden text out."""
