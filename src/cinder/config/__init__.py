"""Settings in sections, one for each subject, and how they are read."""
