"""Statistics of arrays: numbers in, numbers out. Pure, without any other room."""
