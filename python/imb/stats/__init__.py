"""Statistics of arrays: numbers in, numbers out. Pure, and without imports of other packages of imb."""
