"""MPI installations: builds of the suite, launchers, conditions, doctor."""
