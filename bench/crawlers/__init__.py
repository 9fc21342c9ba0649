"""What crawls in the crawling benchmark: each module is a process of its own."""
