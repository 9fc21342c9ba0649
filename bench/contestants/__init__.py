"""What renders in the rendering benchmark: each module is a process of its own."""
