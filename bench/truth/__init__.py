"""Data of known truth, judged by the functions that `imb` itself uses. `python -m bench.truth` prints the rates."""
