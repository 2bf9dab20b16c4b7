import os

from spack.package import conflicts, depends_on, join_path, license, version
from spack_repo.builtin.build_systems.cmake import CMakePackage


class Openimb(CMakePackage):
    """Measure MPI communication: an open implementation of the Intel MPI Benchmarks."""

    # The archive that `make sdist` writes, in the current folder.
    manual_download = True
    url = f"file://{os.getcwd()}/openimb-0.1.0.tar.gz"

    license("Apache-2.0")

    version("0.1.0")

    depends_on("cxx", type="build")
    depends_on("cmake@3.20:", type="build")
    depends_on("mpi@3:")

    conflicts("%gcc@:10", msg="C++20 needs GCC 11 or later")
    conflicts("%clang@:13", msg="C++20 needs Clang 14 or later")

    sanity_check_is_file = tuple(
        join_path("bin", f"IMB-{name}")
        for name in ("MPI1", "EXT", "RMA", "NBC", "IO", "MPI4", "P2P", "MT", "FABRIC")
    )

    def cmake_args(self):
        return [self.define("MPI_CXX_COMPILER", self.spec["mpi"].mpicxx)]
