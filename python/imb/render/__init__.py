"""Records -> what people read."""
