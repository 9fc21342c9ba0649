"""Visibility: which text of a page its visitors cannot see, by styles, rules and contrast."""
