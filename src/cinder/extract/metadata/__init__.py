"""What a page says about itself, and what its markup and text tell of it."""
