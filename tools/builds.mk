# What `make test` does before pytest, in two rows side by side: compiling takes all cores, but unpacking a compiler, compiling
# its C++ library, unit tests and the tests of `make lowest` take one. The Makefile, which has .NOTPARALLEL, calls this with -j2.
#   CHOICES   MPIs that are set up, as tools/setup.py names them; ALSO: one of them that MPI= names
#   LOWEST    yes: `make lowest` too
SHELL := /bin/bash
.PHONY: all suites wheel
all: suites wheel

# An author's build compiles each file for itself, since one is compiled again then.
suites:
	@for choice in $(CHOICES); do \
	  case $$choice in mpich) more='TESTS=1 $(if $(OPENIMB_CI),CMAKE_ARGS=-DOPENIMB_TOGETHER=ON)' ;; \
	    openmpi) more='WARNINGS=1 TESTS=programs' ;; smpi) more=CMAKE_ARGS=-DCMAKE_CXX_FLAGS_RELEASE=-O0 ;; \
	    windows) more=CMAKE_ARGS=-DCMAKE_CXX_FLAGS_RELEASE=-O1 ;; $(or $(ALSO),none)) more= ;; *) continue ;; esac; \
	  echo "== build with $$choice"; $(MAKE) --no-print-directory build MPI=$$choice $$more || exit 2; \
	done
	@build/mpich/bin/openimb-unit-tests

wheel:
	@$(if $(LOWEST),$(MAKE) --no-print-directory lowest)
	@echo '== wheel, for the other MPIs'; $(PYTHON) tools/wheel.py
