# Needs only make and a Python with venv.
#   make test VENV=.venv3.12 PYTHON=python3.12    the tests with another Python
#   make test TESTS="tests/results tests/models" the tests in some folders
#   make test ARGS="-k splitting -m 'not slow'"   more arguments for pytest

PYTHON ?= python3
VENV ?= .venv
WORKERS ?= 2
TESTS ?= tests
ARGS ?=

BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
BENCH_STAMP := $(VENV)/.installed-bench
DOCS_STAMP := $(VENV)/.installed-docs
DISTRIBUTED_STAMP := $(VENV)/.installed-distributed
VERSIONS := import platform, arviz, jax, numpyro; \
	print(f"Python {platform.python_version()}, NumPyro {numpyro.__version__}, " \
	f"JAX {jax.__version__}, ArviZ {arviz.__version__}")

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

.DEFAULT_GOAL := help
.PHONY: help install demo test test-long test-release test-distributed fuzz faults lint format bench papers calibration docs clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(STAMP) ## create the virtual environment with everything that the other targets need

# Runs again only when pyproject.toml changes, because the package is installed in editable mode.
$(STAMP): pyproject.toml
	@echo "Installing numpyro_sgmcmc with its development tools into $(VENV) (a minute or two)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --editable '.[dev,examples]'
	@touch $@

demo: install ## run the example on real flights and write a report
	@$(BIN)/python -m examples.flights

# One process imports ArviZ first: ArviZ 0.23 writes a file at the first import of a day, and two test
# processes that do so at the same time can fail.
# Most tests spend more time on compiling than on computing, so they compile without optimisation.
# Many tests compile the same program. A cache that both processes share saves a third of the time.
# It holds small programs too, of which there are so many that this saves another 7 %.
# For each program from the cache jaxlib 0.10.1 logs an error about features of the processor. Nothing is
# wrong with these programs, and the log would appear in the tutorials.
CACHE := TF_CPP_MIN_LOG_LEVEL=3 JAX_COMPILATION_CACHE_DIR="$(CURDIR)/.jax_cache" \
	JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS=0 JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES=-1
UNOPTIMISED := from numpyro_sgmcmc.cpu.compiling import compiler_options; \
	print(*(f"--{k}={str(v).lower()}" for k, v in compiler_options(0, optimise=False).items()))
PYTEST := $(CACHE) $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal
QUICKLY = flags=$$($(BIN)/python -W ignore::FutureWarning -c '$(UNOPTIMISED)') && \
	XLA_FLAGS="$$XLA_FLAGS $$flags" $(PYTEST)
test: install ## run the tests (about 7 minutes)
	@$(BIN)/python -W ignore::FutureWarning -c '$(VERSIONS)'
ifeq ($(ARGS),)
	@$(QUICKLY) $(TESTS) -m "not (slow or papers or long or fuzz or faults or distributed or release)"
else
	@$(PYTEST) $(ARGS)
endif

# Continuous integration runs them too. Few files hold tests that compute for long, and to import all
# files takes half a minute.
COMPUTING = $$(grep -rlE --include='test_*.py' 'mark\.(slow|papers)' tests)
test-long: install ## run the tests that `make test` leaves out (about 35 minutes)
	@$(QUICKLY) tests -m "long and not (faults or slow or distributed or release)"
	@$(PYTEST) $(COMPUTING) -m "(slow or papers) and not release"

# Before a release.
test-release: install ## run further cases of long tests (about 45 minutes)
	@$(PYTEST) tests -m release

fuzz: install ## attack the verdict with 300 random models, kernels and faults (about 10 minutes)
	@$(QUICKLY) tests/fuzz -m fuzz

faults: install ## kill runs, damage their files and fill their disk (at most 10 minutes)
	@$(QUICKLY) tests/driving/test_faults.py -m faults -rP

$(DISTRIBUTED_STAMP): $(STAMP)
	@echo "Installing Ray into $(VENV)"
	@$(BIN)/python -m pip install --quiet --editable '.[distributed]'
	@touch $@

# One process: the tests share one Ray.
test-distributed: $(DISTRIBUTED_STAMP) ## run the tests with workers of Ray (at most 10 minutes)
	@$(CACHE) $(BIN)/python -m pytest tests/distributed -m "distributed or long" -rP

lint: install ## check style, format, types and the direction of imports
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/pyright --pythonpath $(BIN)/python
	@$(BIN)/lint-imports --no-logo

format: install ## apply ruff's fixes
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

bench: $(BENCH_STAMP) ## measure speed and memory, twelve figures (about 15 minutes)
	@$(BIN)/python -m benchmarks.speed

$(BENCH_STAMP): $(STAMP)
	@echo "Installing the packages for comparisons into $(VENV)"
	@$(BIN)/python -m pip install --quiet --editable '.[bench]'
	@touch $@

papers: install ## draw the papers' figures beside exact distributions (about two and a half hours)
	@$(BIN)/python -m benchmarks.papers

calibration: install ## compare untuned kernels with NUTS on 28 models (about an hour)
	@$(BIN)/python -m benchmarks.calibration

# All notebooks run, because their output depends on the library. NOTEBOOKS=cache runs those whose text
# has changed, NOTEBOOKS=off runs none.
docs: $(DOCS_STAMP) ## build the documentation and run its tutorials (about 8 minutes)
	@rm -rf docs/_build/html
	@$(CACHE) $(BIN)/python -m sphinx --quiet --jobs $(WORKERS) --fresh-env --fail-on-warning --keep-going docs docs/_build/html
	@$(BIN)/python docs/check_links.py docs/_build/html

$(DOCS_STAMP): $(STAMP)
	@echo "Installing the documentation tools into $(VENV)"
	@$(BIN)/python -m pip install --quiet --editable '.[docs,examples]'
	@touch $@

clean: ## remove virtual environments, caches and build products
	@rm -rf .venv* .jax_cache build dist docs/_build
	@rm -rf *.egg-info .pytest_cache .ruff_cache .import_linter_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
