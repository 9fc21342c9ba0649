"""The nouns: frozen values that every part speaks in. No behaviour beyond what they are."""
