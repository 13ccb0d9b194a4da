# Every target runs from the clone alone; `setup` makes .venv the first time and costs nothing afterwards.
.DEFAULT_GOAL := help
.PHONY: help setup demo test test-long check format bench fuzz docs lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile

setup: ## make .venv with everything in it; a second run starts at once
	@scripts/setup

demo: setup ## orders come in, results and the lake stay fresh: watch it (about two minutes)
	@.venv/bin/runnel demo

test: setup ## the tests, on real servers that they bring along (some minutes on two cores)
	@.venv/bin/python -m pytest -n 2 --dist loadfile -m "not long" tests

test-long: setup ## the long tests: PostgreSQL 16, a Spark cluster, engines killed at every point
	@.venv/bin/python -m pytest -n 2 --dist loadfile -m long tests

check: setup ## format, lint, types, and which room may import which
	@.venv/bin/python -m ruff format --check .
	@.venv/bin/python -m ruff check .
	@.venv/bin/python -m mypy
	@.venv/bin/lint-imports --no-logo
	@.venv/bin/python scripts/docs.py --check

format: setup ## write the format that `check` wants
	@.venv/bin/python -m ruff format .
	@.venv/bin/python -m ruff check --fix .

bench: setup ## one script per claim, each a ratio measured side by side; results in benchmarks/RESULTS.md
	@for script in benchmarks/bench_*.py; do \
	  echo "== $$script"; .venv/bin/python "$$script" || exit 1; \
	done

fuzz: setup ## random histories for as long as you let it, PostgreSQL as the oracle
	@HYPOTHESIS_PROFILE=fuzz .venv/bin/python -m pytest -x tests/rules

docs: setup ## write the generated pages of docs/ anew
	@.venv/bin/python scripts/docs.py

lock: ## write requirements/*.txt anew from pyproject.toml (needs uv)
	@scripts/lock

clean: ## remove .venv, caches and build output
	@rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	@find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
