#!/bin/bash
# Build the packages of all recipes from the source archive and test them: make packaging-check.
# Needs Debian's debhelper, mpi-default-dev, lintian, autopkgtest, rpm, rpmlint and lmod, and $PYTHON with the tools of the tests.
set -euo pipefail
sources=$(cd "$(dirname "$0")/.." && pwd)
work=$sources/build/packaging
python=${PYTHON:-python3}

fail() {
  echo "check.sh: $1" >&2
  exit 2
}

archive=$(echo "$work"/openimb-*.tar.gz)
[ -f "$archive" ] || fail "not one source archive: $archive; use make packaging-check"
version=${archive##*/openimb-}
version=${version%.tar.gz}

# Run two ranks of an installation in a folder.
two_ranks() {
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
  mpirun -np 2 "$1/IMB-MPI1" -check -iter 5 -msglog 10 PingPong Allreduce
  man --warnings -M "$1/../share/man" IMB-EXT 2>&1 >/dev/null | diff /dev/null -
}

debian() {
  ! dpkg-query -W openimb >/dev/null 2>&1 || fail "the package openimb is installed here; remove it (dpkg --purge openimb)"
  cp "$archive" "openimb_$version.orig.tar.gz"
  tar -xf "$archive"
  cp -r "$sources/packaging/debian" "openimb-$version/"
  (cd "openimb-$version" && DEB_BUILD_OPTIONS="noautodbgsym ${DEB_BUILD_OPTIONS-parallel=$(nproc)}" dpkg-buildpackage -us -uc)
  lintian --info --fail-on error,warning openimb_*.changes
  trap 'dpkg --purge openimb' EXIT  # also where the test fails
  autopkgtest -B openimb_*.deb openimb_*.dsc -- null  # installs the package on this machine
  dpkg --purge openimb
  trap - EXIT
}

# --nodeps, because Debian has no RPM packages.
rpm() {
  mkdir SOURCES
  cp "$archive" SOURCES
  rpmbuild -ba --nodeps --define "_topdir $PWD" "$sources/packaging/rpm/openimb.spec"
  rpmlint --strict --config "$sources/packaging/rpm/rpmlint.toml" SRPMS/*.rpm RPMS/*/*.rpm
  # Each package requires the library of its own MPI.
  command rpm -qp --requires RPMS/*/openimb-openmpi-*.rpm | grep '^libmpi\.so\.40'
  command rpm -qp --requires RPMS/*/openimb-mpich-*.rpm | grep '^libmpi.*\.so\.12'
}

# With the compiler and the MPI of the system instead of the toolchain.
easybuild() {
  export LMOD_CMD=${LMOD_CMD:-/usr/share/lmod/lmod/libexec/lmod} EB_PYTHON=$python MPICXX=mpicxx
  sed 's/^toolchain = .*/toolchain = SYSTEM/; /^builddependencies/d' "$sources"/packaging/easybuild/*.eb >"OpenIMB-$version.eb"
  "$python" -m easybuild.main --allow-use-as-root-and-accept-consequences --disable-rpath \
    --prefix="$PWD" --sourcepath="$work" "OpenIMB-$version.eb"
  two_ranks "$(echo "$PWD"/software/OpenIMB/*/bin)"
}

# With the compiler and the MPI of the system, instead of packages of conda-forge, which a test of the package would also need.
conda() {
  "$python" - "$sources/packaging/conda/recipe.yaml" "$archive" <<'END'
import sys
from rattler_build import Package, Stage0Recipe, VariantConfig

recipe = Stage0Recipe.from_file(sys.argv[1]).to_dict()
del recipe["requirements"]
recipe["source"] = {"path": sys.argv[2]}
recipe["build"]["dynamic_linking"]["binary_relocation"] = False
(result,) = Stage0Recipe.from_dict(recipe).run_build(VariantConfig(), channels=[], output_dir="packages")
files = set(Package.from_file(result.packages[0]).files)
wanted = {"bin/IMB-MPI1", "bin/IMB-FABRIC", "share/man/man1/IMB-FABRIC.1"}
wanted |= set(recipe["tests"][0]["package_contents"]["files"]["exists"])
print(result.packages[0], len(files), "files")
sys.exit(f"not in the package: {wanted - files}" if wanted - files else 0)
END
}

for recipe in "$@"; do
  case $recipe in debian | rpm | easybuild | conda) ;; *) fail "no recipe $recipe; give debian, rpm, easybuild or conda" ;; esac
done
for recipe in "$@"; do
  echo "== $recipe"
  rm -rf "${work:?}/$recipe"  # left by a check that failed
  mkdir "$work/$recipe"
  cd "$work/$recipe"
  "$recipe"
done
