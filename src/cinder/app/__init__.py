"""The composition root: builds every part from the settings, opens it and closes it."""
