# One set-up for people and for CI; safe to repeat, installs nothing outside this folder.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: setup demo test test-slow lint clean

setup: .venv/ready

.venv/ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed; try: make PYTHON=python3.11 $(MAKECMDGOALS)")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[dev]'
	mkdir -p .types && ln -sfn .. .types/tachograph
	touch $@

demo: setup
	$(BIN)/tachograph demo

test: setup
	$(BIN)/pytest -n auto --dist loadfile

test-slow: setup
	$(BIN)/pytest -m slow

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

clean:
	rm -rf .venv .types build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
