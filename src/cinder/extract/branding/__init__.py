"""A page's branding: how it looks, by computed styles or by its style sheets."""
