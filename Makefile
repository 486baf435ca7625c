# One word each: make demo, make test, make soak, make check, make bench, make faults. Each makes what it needs in .venv first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
INSTALL := tests/install.sh $(BIN)/python --constraint constraints.txt
DEMO_FLAGS ?=
# The tests start hundreds of processes: what they import is compiled once, whatever the shell says.
unexport PYTHONDONTWRITEBYTECODE
PAGE := frontend/index.html frontend/package-lock.json $(shell find frontend/src 2>/dev/null)

.PHONY: demo test soak check check-python check-page test-page ready system beside compiled bench faults clean

demo: $(VENV)/.demo
	$(BIN)/underfed demo $(DEMO_FLAGS)

# What is fast comes first, and the first that is red is the last.
test:
	$(MAKE) --no-print-directory --jobs 3 ready check test-page compiled
	$(BIN)/python -m pytest --exitfirst --numprocesses auto --dist worksteal --durations 40

# What needs the network, real time or chance. It goes on after what is red, and ends with what passed how often.
soak:
	$(MAKE) --no-print-directory --jobs 3 ready
	$(BIN)/python -m tests.soak

check: check-python check-page

check-python: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

check-page: frontend/node_modules/.stamp
	npm --prefix frontend run check

test-page: frontend/node_modules/.stamp
	npm --prefix frontend test

# What tests import, once: the processes that test begin together, and each would compile all of it.
compiled: $(VENV)/.page
	$(BIN)/python -m pytest --collect-only --quiet > $(VENV)/collected || { tail -n 60 $(VENV)/collected; exit 1; }

ready: $(VENV)/.page system beside
	tests/setup.sh or-fail $(BIN)/python

system:
	tests/setup.sh

# While the packages are installed, which keeps one core busy. After the other, since one apt-get waits for no other.
beside: system | $(BIN)/python
	tests/setup.sh $(BIN)/python

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks

# Plants slips into a copy of the code, one at a time, and tells which of them the tests notice.
faults:
	$(MAKE) --no-print-directory --jobs 3 ready
	$(BIN)/python -m tests.planted_faults

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --constraint constraints.txt uv

$(VENV)/.demo: pyproject.toml constraints.txt hatch_build.py hatch_metadata.py $(PAGE) | $(BIN)/python
	$(INSTALL) --editable ".[demo]"
	touch $@

# Without the page, so that what builds it is installed meanwhile; with the newest pip, which installs it and is half as slow.
$(VENV)/.dev: pyproject.toml constraints.txt | $(BIN)/python
	UNDERFED_SKIP_FRONTEND=1 $(INSTALL) --editable ".[dev]" pip
	touch $@

$(VENV)/.page: $(VENV)/.dev frontend/node_modules/.stamp hatch_build.py hatch_metadata.py $(PAGE)
	$(PIP) install --no-deps --no-build-isolation --editable .
	touch $@

$(VENV)/.bench: $(VENV)/.page
	$(INSTALL) --editable ".[bench]"
	touch $@

frontend/node_modules/.stamp: frontend/package-lock.json
	npm --prefix frontend ci --no-audit --no-fund --ignore-scripts
	touch $@

clean:
	rm -rf $(VENV) frontend/node_modules app/underfed_server/static dist
