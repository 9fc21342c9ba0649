"""The version of the rules: whoever keeps what they found asks whether they are still the same."""

# Raise it with every change of what is found on a page.
FIELDS_VERSION = 2
