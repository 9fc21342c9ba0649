"""PDF documents: glyphs and drawn lines become headings, text and tables."""
