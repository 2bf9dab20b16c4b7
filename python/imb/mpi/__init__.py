"""Finds MPI installations, builds the suite for them, launches it, and checks the host."""
