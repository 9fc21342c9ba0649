"""PDF documents: from the glyphs and lines that a file draws to headings, text and tables."""
