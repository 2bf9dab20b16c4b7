"""The companion of OpenIMB: runs, keeps and reads MPI benchmarks."""

__version__ = "0.1.0"
