"""The rules of a crawl: which addresses are one, which are taken, and which pages are alike."""
