# `make demo` and `make test` need only Python 3.11+ and make: they create .venv and install what constraints.txt pins.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# One thread for each of two test processes: threads that spin would slow each other down.
JOBS ?= 2
PYTEST := OMP_NUM_THREADS=1 CUTAWAY_TEST_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) --durations=25
# `make slow` begins no test after so many minutes and names those that it did not reach.
MINUTES ?= 600

.PHONY: demo test check quick kernels slow slow-untyped slow-typed bench lint types doctest docs clean

demo: $(STAMP)
	$(BIN)/cutaway demo

# Two passes: with the shapes and types of signatures enforced, and without (the compiler, and messages for bad input).
test: $(STAMP) doctest
	$(PYTEST) -m "not slow"
	CUTAWAY_TYPECHECK=0 $(PYTEST) -m "untyped and not slow"

# The inner loop.
check: lint types doctest quick

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(STAMP)
	$(BIN)/mypy

doctest: $(STAMP)
	$(PYTEST) --doctest-modules cutaway

quick: $(STAMP)
	$(PYTEST) -m "not slow and not long"

# The numeric tests once with each family of kernels that this processor can run: see tests/other_kernels.py.
kernels: $(STAMP)
	$(BIN)/python tests/other_kernels.py $(JOBS)

# Trainings to a stated quality, and what `make test` tries on representatives only: see tests/README.md.
slow: slow-untyped slow-typed

slow-untyped: $(STAMP)
	CUTAWAY_TYPECHECK=0 $(PYTEST) -m "slow and untyped" --minutes $(MINUTES)

slow-typed: $(STAMP)
	$(PYTEST) -m slow --minutes $(MINUTES)

bench: $(STAMP)
	$(BIN)/python benchmarks/run.py

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Cutaway needs Python 3.11 or newer, got $$($(PYTHON) --version); try: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing into $(VENV) (a few minutes the first time) ..."
	@# torch first, by its pinned version: a range would take the newest build, with gigabytes of CUDA.
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch==2.13.0
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[test]'
	@touch $(STAMP)

# The documentation as pages that open from a file: site/index.html.
docs: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "open site/index.html"

clean:
	rm -rf $(VENV) build dist site *.egg-info .pytest_cache .mypy_cache .ruff_cache
