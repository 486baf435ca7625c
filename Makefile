# One word each: make demo, make test, make check, make bench, make faults. Each makes what it needs in .venv first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
DEMO_FLAGS ?=

.PHONY: demo test check bench faults clean

demo: $(VENV)/.demo
	$(BIN)/underfed demo $(DEMO_FLAGS)

test: $(VENV)/.dev frontend/node_modules/.stamp
	tests/setup.sh $(BIN)/python
	$(MAKE) --no-print-directory check
	npm --prefix frontend test
	$(BIN)/python -m pytest -m alone
	$(BIN)/python -m pytest -m "not alone" --numprocesses 2 --dist loadfile

check: $(VENV)/.dev frontend/node_modules/.stamp
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	npm --prefix frontend run check

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks

# Plants slips into a copy of the code, one at a time, and tells which of them the tests notice.
faults: $(VENV)/.dev frontend/node_modules/.stamp
	$(BIN)/python -m tests.planted_faults

$(VENV)/.demo: pyproject.toml constraints.txt hatch_build.py $(shell find frontend/src frontend/index.html frontend/package-lock.json 2>/dev/null)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --constraint constraints.txt --editable ".[demo]"
	touch $@

$(VENV)/.dev: $(VENV)/.demo
	$(PIP) install --constraint constraints.txt --editable ".[dev]"
	touch $@

$(VENV)/.bench: $(VENV)/.dev
	$(PIP) install --constraint constraints.txt --editable ".[bench]"
	touch $@

frontend/node_modules/.stamp: frontend/package-lock.json
	npm --prefix frontend ci --no-audit --no-fund --ignore-scripts
	touch $@

clean:
	rm -rf $(VENV) frontend/node_modules app/underfed_server/static dist
