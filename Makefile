# Everything a developer, an operator or CI types; `make` alone lists it.

# Compiled once: else each of the hundreds of processes that tests start compiles all that it imports.
unexport PYTHONDONTWRITEBYTECODE

VENV   := .venv
BIN    := $(VENV)/bin
# The first Python on PATH that is new enough and can make virtual environments; 3.11 is what CI runs.
PYTHON ?= $(shell for python in python3.11 python3 python3.12 python3.13 python3.14; do \
	"$$python" -c '$(USABLE)' 2>/dev/null && echo "$$python" && break; done)
USABLE := import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))

# The packages whose branches are covered in full, since they decide and touch nothing, and the tests
# that do it. All others run without: counting branches makes tests take 1.7 times as long.
PURE := dashboard/domain/*,dashboard/wire/*,dashboard/detect/*,dashboard/alert/compose.py,dashboard/alert/digest_text.py,dashboard/alert/incident_text.py,dashboard/alert/rejection_text.py,dashboard/alert/grouped_text.py,dashboard/alert/fee_chart.py,dashboard/alert/occasion.py,dashboard/alert/payload.py
PURE_TESTS := tests/unit/domain tests/unit/wire tests/unit/detect tests/unit/alert/test_mail_samples.py tests/unit/alert/test_compose.py tests/unit/alert/test_links_in_messages.py tests/unit/alert/test_incident_text.py tests/unit/alert/test_measured_text.py tests/unit/alert/test_rejection_text.py tests/unit/alert/test_grouped_text.py tests/unit/alert/test_fee_chart.py tests/unit/alert/test_occasion.py tests/unit/alert/test_payload.py
# A file stays on one worker, which starts its servers once, in the order of tests/conftest.py.
# Many tests wait for servers half of their time, hence four workers for two cores. Each takes 15
# seconds of a core to import all tests, so more of them gain nothing.
PYTEST := $(BIN)/python -m pytest --numprocesses 4 --dist loadfile --no-loadscope-reorder
# These only compute.
PYTEST_PURE := $(BIN)/python -m pytest --numprocesses 2 --dist worksteal
# These stand on a store without SQL of their own; the tests of the store itself run on both always.
ON_A_STORE := tests/unit/alert tests/unit/poll tests/unit/serve

LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--custom-compile-command "make lock" $(if $(UPGRADE),--upgrade)
# uv installs in seconds; pip stands in where only pip is configured for a mirror.
INSTALL = $(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python $(1) || $(BIN)/python -m pip install --quiet $(1)
PROJECT := --no-deps --no-build-isolation --editable .

.PHONY: help run test test-full coverage check lint collected types bench faults format lock wheel clean

help:
	@echo 'make run      install what running needs and start everything (the second time: at once)'
	@echo 'make test     install what the tests need and run them all'
	@echo 'make test-full everything on both databases and all screens, as before a release'
	@echo 'make coverage run them all and tell which lines none of them reaches; takes 1.7 times as long'
	@echo 'make check    formatter, linter, types, import contracts, tests: exactly what CI runs'
	@echo 'make bench    measure speed for docs/benchmarks.md; ARGS="S6 --quick": a part, briefly, no page'
	@echo 'make faults   play the full runs of every fault, some hours, and publish docs/faults.md; ARGS="ROW --runs N"'
	@echo 'make format   let the formatter and the linter mend what they can'
	@echo 'make wheel    build dist/linewatch-*.whl, the same from the same commit'
	@echo 'make lock     pin the dependencies again after a change of pyproject.toml; UPGRADE=1: to the newest'
	@echo 'make clean    remove everything that make made'

run: $(VENV)/run.stamp
	@exec $(BIN)/linewatch up $(ARGS)

test: $(VENV)/dev.stamp
	$(BIN)/python -m tests.provision
ifdef ARGS
	$(PYTEST) $(ARGS)
else
	$(PYTEST_PURE) --cov --cov-report= --cov-fail-under=0 $(PURE_TESTS)
	$(BIN)/coverage report --include '$(PURE)' --fail-under 100
	$(PYTEST) $(FULL) $(addprefix --ignore=,$(PURE_TESTS))
endif

# On one machine before a release, and before the full runs of the faults.
test-full: $(VENV)/dev.stamp
	@$(MAKE) test FULL="--full --timeout 21600" # the fuzzer alone takes eighty minutes of a core
	$(PYTEST) --database postgresql $(ON_A_STORE)

coverage: $(VENV)/dev.stamp
	$(BIN)/python -m tests.provision
	$(PYTEST) --cov --cov-report=
	$(BIN)/coverage report

check: $(VENV)/dev.stamp
	@$(MAKE) --jobs=2 lint collected
	@$(MAKE) --jobs=2 types test

lint: $(VENV)/dev.stamp
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/lint-imports

# Compiles the tests once, beside the linters: in a fresh clone each worker would do it for itself.
collected: $(VENV)/dev.stamp
	-@$(BIN)/python -m pytest --collect-only -qq > /dev/null

# Beside the tests, which wait for servers a quarter of their time.
types: $(VENV)/dev.stamp
	$(BIN)/mypy

bench: $(VENV)/dev.stamp
	$(BIN)/python -m tests.bench $(or $(ARGS),--page docs/benchmarks.md)

faults: $(VENV)/dev.stamp
ifndef ARGS
	@$(MAKE) test-full
endif
	$(BIN)/python -m tests.faults $(ARGS)

format: $(VENV)/dev.stamp
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format

# The run lock takes its versions from the dev lock, so that one environment serves both.
lock: $(VENV)/uv.stamp
	echo uv | $(LOCK) --output-file requirements/bootstrap.lock -
	$(LOCK) --output-file requirements/dev.lock --group dev pyproject.toml
	$(LOCK) --output-file requirements/run.lock --group build --constraints requirements/dev.lock pyproject.toml
	$(LOCK) --output-file requirements/tracing.lock --extra tracing --constraints requirements/dev.lock pyproject.toml
	@$(MAKE) $(VENV)/dev.stamp
	$(BIN)/python -m tests.provision --lock
	$(BIN)/python -m tests.sbom

wheel: $(VENV)/dev.stamp
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(BIN)/python -m hatchling build --target wheel --directory dist

clean:
	rm -rf $(VENV) tests/node/node_modules build dist htmlcov .coverage .coverage.* \
		.hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/uv.stamp: requirements/bootstrap.lock
	@"$(PYTHON)" -c '$(USABLE)' 2>/dev/null || { \
		echo "Linewatch needs Python 3.11 or newer with its venv module; here: $$(python3 --version 2>&1)." >&2; \
		echo "Install it (Debian, Ubuntu: apt-get install python3 python3-venv; macOS: brew install python@3.11)" >&2; \
		echo "or name one that is not on PATH: make run PYTHON=/path/to/python3.11" >&2; exit 1; }
	@echo "Setting up $(VENV) with $(PYTHON) ..."
	@"$(PYTHON)" -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --require-hashes --requirement requirements/bootstrap.lock
	@touch $@

$(VENV)/run.stamp: $(VENV)/uv.stamp requirements/run.lock pyproject.toml
	@echo "Installing what running needs ..."
	@$(call INSTALL,--require-hashes --requirement requirements/run.lock)
	@$(call INSTALL,$(PROJECT))
	@touch $@

# Holds what running needs as well.
$(VENV)/dev.stamp: $(VENV)/uv.stamp requirements/dev.lock pyproject.toml
	@echo "Installing what running, testing and checking need ..."
	@$(call INSTALL,--require-hashes --requirement requirements/dev.lock)
	@$(call INSTALL,$(PROJECT))
	@touch $(VENV)/run.stamp $@
