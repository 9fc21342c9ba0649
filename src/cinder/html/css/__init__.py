"""CSS: style sheets, declarations, selectors and values."""
