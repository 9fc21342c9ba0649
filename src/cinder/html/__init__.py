"""HTML pages: parsing, visibility, main content, metadata, Markdown; pure and synchronous."""
