# `make run` and `make test` set up what they need, once; everything lives in .venv.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: run test test-slow lint check browser clean

run: .venv/ready
	$(BIN)/iifl reproduce navigation

test: .venv/ready
	$(BIN)/pytest -n auto --dist loadfile

test-slow: .venv/ready
	$(BIN)/pytest -m slow

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

check: lint test

# For the tests of the pages of the people, which are skipped without it (Debian, as root).
browser:
	apt-get update
	apt-get install -y --no-install-recommends chromium chromium-driver

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

clean:
	rm -rf .venv
