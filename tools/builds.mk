# What `make test` does before pytest, in two rows side by side: compiling takes all cores, but unpacking a compiler, compiling
# its C++ library, unit tests, the tests of `make lowest` and those without an MPI take one.
# The Makefile, which has .NOTPARALLEL, calls this with -j2.
#   CHOICES   MPIs that are set up, as tools/setup.py names them; ALSO: one of them that MPI= names
#   PART      runs a part of the tests; COMPUTING: in so many processes
#   WHOLE     yes: `make lowest` and the tests without an MPI too, of which some look at the wheel
SHELL := /bin/bash
.PHONY: all suites wheel
all: suites wheel

# The modules that need no MPI, from the build with MPICH, which is made first; an author's builds stand alone.
shared := $(if $(OPENIMB_CI),-DOPENIMB_PURE_FROM=$(CURDIR)/build/mpich)
suites:
	@for choice in $(CHOICES); do \
	  case $$choice in mpich) more=(WARNINGS=1 TESTS=programs) ;; openmpi) more=(WARNINGS=1 TESTS=programs "CMAKE_ARGS=$(shared)") ;; \
	    smpi) more=(CMAKE_ARGS=-DCMAKE_CXX_FLAGS_RELEASE=-O0) ;; \
	    windows) more=(CMAKE_ARGS=-DCMAKE_CXX_FLAGS_RELEASE=-O1) ;; \
	    $(or $(ALSO),none)) more=() ;; *) continue ;; esac; \
	  echo "== build with $$choice"; $(MAKE) --no-print-directory build MPI=$$choice "$${more[@]}" || exit 2; \
	done
	@echo '== build with sanitizers'; $(MAKE) --no-print-directory -f tools/builds.mk sanitized
	@# What asks for more memory than there is ends a process under AddressSanitizer; "make check" runs that test. A hidden one writes the golden
	@# examples, which an exclusion alone would let run. The fake driver leaks.
	@ASAN_OPTIONS=detect_leaks=0 build/sanitized/bin/openimb-unit-tests '~[.]~[beyond-sanitizers]'

# tests/test_sanitized.py, and the unit tests. Large counts would instantiate every benchmark a second time. In CI, undefined
# behavior ends a program without words, which is compiled in two thirds of the time: an author's build says what and where. It also
# compiles each file for itself, since one is compiled again then.
in_ci := -fsanitize-undefined-trap-on-error
.PHONY: sanitized
sanitized:
	@$(MAKE) --no-print-directory -f Makefile build MPI=mpich BUILD=build/sanitized TESTS=1 PROGRAM='openimb-unit-tests openimb-all' \
	  CMAKE_ARGS='-DOPENIMB_SANITIZE=ON -DHAVE_OPENIMB_LARGE_COUNT=OFF "-DCMAKE_CXX_FLAGS_RELEASE=-O0 $(if $(OPENIMB_CI),$(in_ci))" $(if $(OPENIMB_CI),-DOPENIMB_TOGETHER=ON)'

wheel:
	@$(if $(WHOLE),$(MAKE) --no-print-directory lowest)
	@echo '== wheel, for the other MPIs'; $(PYTHON) tools/wheel.py
	@$(if $(WHOLE),echo '== tests without an MPI'; $(PART) without-mpi $(COMPUTING) --no-mpi -m 'not browser')
