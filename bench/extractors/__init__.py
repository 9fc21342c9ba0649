"""What makes content of saved pages in the extraction benchmark: each module is a process."""
