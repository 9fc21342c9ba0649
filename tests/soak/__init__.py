"""The soak: many renders in a row, every tenth of a hostile page, and what they leave behind."""
