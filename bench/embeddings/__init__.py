"""The extra `embeddings`, in an environment of its own: cinder's has it not."""
