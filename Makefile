# `make demo` and `make test` are all that a new clone needs; both make .venv by themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

.PHONY: demo test slow integration lint build clean
demo: $(VENV)/.installed
	$(BIN)/python examples/demo.py

# Two processes, each with one thread: real ranks and workers of many tests share the cores with them.
PYTEST := OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo $(BIN)/python -m pytest -n 2

test: $(VENV)/.installed
	$(PYTEST) -m "not slow and not integration"

# Six to nine minutes on two cores; SLOW= names a part.
SLOW := tests
slow: $(VENV)/.installed
	$(PYTEST) -m "slow and not integration" $(SLOW)

integration: $(VENV)/.integrations
	$(PYTEST) -m integration

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m reproseed.lint reproseed examples benchmarks

build: $(VENV)/.installed
	$(BIN)/python -m build --outdir dist .

# Installed anew only when the list of what to install has changed.
$(VENV)/.installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet -c constraints.txt -e '.[dev]'
	touch $@

$(VENV)/.integrations: $(VENV)/.installed
	$(PIP) install --quiet -c constraints.txt -e '.[dev,integrations]'
	touch $@

clean:
	rm -rf $(VENV) dist build
