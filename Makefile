# make demo: try it out.  make test: all tests.  Both make the environment .venv first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-fast check clean

demo: $(VENV)/.installed
	$(BIN)/lmms-rpts demo

test: $(VENV)/.test-installed
	$(BIN)/python -m pytest -n 2 --dist worksteal

test-fast: $(VENV)/.test-installed
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow"

check: $(VENV)/.test-installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	  { echo "Python 3.10 or newer is needed; name one with: make PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
	  { rm -rf $(VENV); echo "On Debian and Ubuntu: apt-get install python3-venv"; exit 1; }

$(VENV)/.installed: pyproject.toml $(VENV)/bin/python
	@echo "Installing lmms-eval and what it needs (about 7 GB, some minutes) ..."
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.test-installed: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	@touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info demo-results
