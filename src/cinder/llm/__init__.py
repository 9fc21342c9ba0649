"""Language models: two wire formats behind one protocol, with JSON that is checked."""
