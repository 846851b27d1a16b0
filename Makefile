# make demo | make test | make help.   PYTHON=python3.12 make test picks another interpreter.
#
# Every target makes the virtual environment .venv by itself and installs what it needs, so that a machine with
# Python >= 3.11 and a C compiler is enough. Nothing outside this folder is touched; `make clean` removes it all.
PYTHON ?= python3
VENV ?= .venv
ARGS ?=
CC ?= cc

PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check -q
PYTEST := $(PY) -m pytest
SPREAD := -n auto --dist worksteal
BUILD := $(PY) setup.py -q build_ext --inplace
SANITIZED := MPM_SANITIZE=address,undefined $(PY) setup.py -q build --build-base build/asan
QUICK := not slow and not notebook
# Without compiled files every worker of pytest rewrites all tests anew, for nine seconds, and every process that a test
# starts compiles the package.
unexport PYTHONDONTWRITEBYTECODE
ON_DEVICE := determinism conservation timestep checkpoint checkpoint_pieces binning leave
# Python alone, nothing for sanitizers: readers of files, what checks arguments before the core, plots, pages. Damaged files
# and random calls have tests of their own there (test_fuzz.py), the core's arguments test_core_arguments.py.
PYTHON_ALONE := viewer viewer_compare viewer_faults viewer_folder viewer_frames viewer_hub viewer_past viewer_probe \
  viewer_settings sph_viewer view plots movies names moved strangers sequences hdf5 mesh_files point_files cells_files \
  wrong_arguments refusals unused_options supply library material_docs

# An environment that was moved or copied, or whose Python has disappeared, is made anew.
ifneq ($(wildcard $(VENV)),)
ifneq ($(shell $(PY) -c "import os, sys; print(os.path.samefile(sys.prefix, '$(VENV)'))" 2>/dev/null),True)
$(shell rm -rf $(VENV))
endif
endif

.DEFAULT_GOAL := help
.PHONY: help drive-browser demo test law slow device all-tests lint format static c asan tsan coverage wheel notebooks docs formats browser bench gate peers lock clean

help:
	@echo "make demo       sand in seconds, then an elastic cube in minutes: writes out/ (ARGS='jelly --threads 2' for another)"
	@echo "make test       installs, builds, runs the quick test suite (ARGS='-k beam' to choose)"
	@echo "make law        NAME=sand: compiles the laws without the sweeps, runs tests/test_laws.py for one of them"
	@echo "make slow       the tests that take longer;  make all-tests: both"
	@echo "make device     determinism, conservation, refusals and checkpoints on an emulated GPU: long"
	@echo "make lint       ruff and mypy;  make format: let ruff mend what it can"
	@echo "make static     GCC's analyzer, cppcheck and clang-tidy on the C core (ARGS='gcc contact' for a part)"
	@echo "make c          the C test programs, plain and under sanitizers;  make tsan: thread sanitizer only"
	@echo "make asan       the test suite on a core built with the address and undefined-behaviour sanitizers"
	@echo "make coverage   lines and branches of C that the quick suite and the C test programs reach (scalar kernels)"
	@echo "make wheel      sdist -> wheel -> clean environment -> tests (PYTHONS='python3.11 python3.13')"
	@echo "make notebooks  executes notebooks/*.ipynb;  make bench: particle-steps per second on this machine"
	@echo "make docs       the documentation, in build/docs/html"
	@echo "make gate       are the kernels as fast as they were? (ratios; ARGS=--update);  make peers: beside other programs"
	@echo "make formats    reads our files and draws 3-D scenes with VTK, takes laws of Numba (installs 0.8 GB)"
	@echo "make browser    drives the viewer in JupyterLab with Chromium (ARGS='-k record'; installs into .venv-browser)"
	@echo "make lock       renews requirements/*.txt, the versions and hashes of what the other targets download"
	@echo "make clean      removes everything that these made"

# What this machine runs, and no more. Without ARGS a 2-D scene comes first, whose picture is there in seconds.
demo: $(VENV)/installed-demo
	@MPM_ISAS=native $(BUILD)
ifeq ($(strip $(ARGS)),)
	$(PY) -m mpm demo sand-column
	$(PY) -m mpm demo cube
else
	$(PY) -m mpm demo $(ARGS)
endif

test: $(VENV)/installed-test
	$(BUILD)
	$(PYTEST) $(SPREAD) -m "$(QUICK)" $(ARGS)

# As for asan below, Python must not find the plain build.
law: $(VENV)/installed-test
	MPM_LAWS_ONLY=1 $(PY) setup.py -q build --build-base build/laws
	PYTHONPATH=$$(echo $(CURDIR)/build/laws/lib.*) PYTHONSAFEPATH=1 MPM_TESTED=build/laws \
	  $(PYTEST) -q -p no:cacheprovider tests/test_laws.py -k "$(NAME)" $(ARGS)

slow: $(VENV)/installed-test
	$(BUILD)
	$(PYTEST) $(SPREAD) -m slow $(ARGS)

# Neither the quick suite nor .ci/run has it: emulated threads are slow.
device: $(VENV)/installed-test
	$(BUILD)
	$(PYTEST) $(SPREAD) --device emulated -m "$(QUICK)" $(ON_DEVICE:%=tests/test_%.py) $(ARGS)

all-tests: $(VENV)/installed-test
	$(BUILD)
	$(PYTEST) $(ARGS)

lint: $(VENV)/installed-test $(VENV)/installed-lint
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy

format: $(VENV)/installed-lint
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

# The tools of the group come from pip; GCC is looked for.
static: $(VENV)/created
	@.ci/packages $(PY) static
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(PY) tests/static.py $(ARGS)

c: $(VENV)/installed-test
	$(SANITIZED)
	$(PYTEST) $(SPREAD) tests/test_c.py $(ARGS)

tsan: $(VENV)/installed-test
	$(PYTEST) $(SPREAD) tests/test_c.py -k "tsan or thread_sanitizer" $(ARGS)

# A safe path keeps the source tree, and the plain build in it, out of sys.path: PYTHONPATH must win. The sanitizer must
# load the C++ library first, for extensions that throw. pytest would swallow its report, so the report goes to a file.
asan: $(VENV)/installed-test
	$(SANITIZED)
	@rm -f build/asan/report.*
	PYTHONPATH=$$(echo $(CURDIR)/build/asan/lib.*) PYTHONSAFEPATH=1 PYTHONMALLOC=malloc MPM_TESTED=build/asan \
	  LD_PRELOAD="$$($(CC) -print-file-name=libasan.so) $$($(CC) -print-file-name=libstdc++.so.6)" \
	  ASAN_OPTIONS=detect_leaks=0,log_path=$(CURDIR)/build/asan/report \
	  UBSAN_OPTIONS=print_stacktrace=1,log_path=$(CURDIR)/build/asan/report \
	  $(PYTEST) $(SPREAD) -p no:cacheprovider -m "$(QUICK) and not source and not numbers" \
	  $(PYTHON_ALONE:%=--ignore=tests/test_%.py) $(ARGS) \
	  || { head -n 60 build/asan/report.* 2>/dev/null; exit 1; }

# The scalar kernels alone, without optimisation: the other instruction sets compile the same lines with other vectors.
# A process that a test kills leaves counts that cannot be added to; that is said in a file, not to the tests.
COVERAGE := MPM_COVERAGE=1 MPM_ISAS=scalar
coverage: export GCOV_ERROR_FILE := $(CURDIR)/build/cov/errors
coverage: $(VENV)/installed-test
	$(COVERAGE) $(PY) setup.py -q build --build-base build/cov
	find build/cov -name "*.gcda" -delete
	PYTHONPATH=$$(echo $(CURDIR)/build/cov/lib.*) PYTHONSAFEPATH=1 MPM_TESTED=build/cov \
	  $(PYTEST) $(SPREAD) -p no:cacheprovider -m "$(QUICK) and not source and not numbers" $(ARGS)
	$(COVERAGE) $(PYTEST) -q tests/test_c.py -k "test_program and plain" --basetemp=build/cov/programs
	$(PY) tests/c_coverage.py build/cov

wheel: $(VENV)/installed-build
	.ci/wheel $(PY) $(PYTHONS)

# `make docs` uses the executed notebooks.
notebooks: $(VENV)/installed-test
	$(BUILD)
	MPM_EXECUTED=$(CURDIR)/build/notebooks $(PYTEST) -m notebook tests/test_notebooks.py $(ARGS)

docs: $(VENV)/installed-docs
	$(BUILD)
	$(PY) docs/build.py

formats: $(VENV)/installed-test $(VENV)/installed-formats
	$(BUILD)
	$(PYTEST) tests/test_vtk.py tests/test_pyvista.py tests/test_numba.py $(ARGS)

# In a separate environment, so that the other tests run without JupyterLab. mpm comes from this folder.
browser:
	$(MAKE) VENV=.venv-browser PYTHON=$(PYTHON) ARGS="$(ARGS)" drive-browser

drive-browser: $(VENV)/installed-browser
	$(BUILD)
	$(PYTEST) -m browser tests/test_browser.py tests/test_viewer_page.py tests/test_viewer_play.py tests/test_viewer_tools.py tests/test_viewer_tabs.py $(ARGS)

bench: $(VENV)/installed-demo
	$(BUILD)
	$(PY) -m mpm bench $(ARGS)

gate: $(VENV)/installed-demo
	$(BUILD)
	$(PY) benchmarks/gate.py $(ARGS)

peers: $(VENV)/installed-demo
	$(BUILD)
	$(PY) -m benchmarks.peers $(ARGS)

clean:
	rm -rf build dist out *.egg-info .venv .venv-browser mpm/*.so .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find mpm tests -name __pycache__ -type d -prune -exec rm -rf {} +

# New versions of everything that is downloaded, with their hashes.
lock: $(VENV)/created
	$(PIP) install --group lock
	.ci/lock $(VENV)/bin/uv

# Stamps. A change of the metadata, of setup.py or of the versions causes a new installation. LOCK=no installs the newest
# packages that pyproject.toml allows, not those of requirements/.
INSTALL := $(PIP) install --no-build-isolation
export LOCK
$(VENV)/created:
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11))" || \
	  { echo "$(PYTHON) is older than 3.11: choose another with PYTHON=python3.12 make ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	.ci/packages $(PY) pip
	@touch $@
# Compiling comes first, because pip hides what it prints.
$(VENV)/installed-demo: $(VENV)/created pyproject.toml setup.py requirements/demo.txt
	@MPM_ISAS=native $(BUILD)
	.ci/packages $(PY) demo
	MPM_ISAS=native $(INSTALL) -e ".[movie,io]"
	@touch $@
$(VENV)/installed-test: $(VENV)/created pyproject.toml setup.py requirements/test.txt
	@$(BUILD)
	.ci/packages $(PY) test
	$(INSTALL) -e ".[movie,io,mesh]"
	@touch $@ $(VENV)/installed-demo
$(VENV)/installed-lint: $(VENV)/created pyproject.toml requirements/lint.txt
	.ci/packages $(PY) lint
	@touch $@
$(VENV)/installed-formats: $(VENV)/installed-test pyproject.toml requirements/formats.txt
	.ci/packages $(PY) formats
	@touch $@
$(VENV)/installed-browser: $(VENV)/created pyproject.toml requirements/browser.txt
	.ci/packages $(PY) browser
	@touch $@
$(VENV)/installed-docs: $(VENV)/installed-test pyproject.toml requirements/docs.txt
	.ci/packages $(PY) docs
	@touch $@
$(VENV)/installed-build: $(VENV)/created pyproject.toml requirements/build.txt
	.ci/packages $(PY) build
	@touch $@
