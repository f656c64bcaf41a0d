# Every target first prepares the checkout (tools/setup): uv, Rust, .venv with `dyno` and its binaries.
# Needed beforehand: Debian or Ubuntu with Python 3.11 or newer, a C compiler, git and make.

SHELL := /bin/bash
ENTER := set -euo pipefail; source .tools/env;
# The servers that live tests ask for; brought once, kept in the cache, no database is made of them.
TEST_SERVERS := 17 18

.PHONY: help setup demo test check bench calibrate servers clean
.DEFAULT_GOAL := help

help:
	@echo "make setup   prepare this checkout"
	@echo "make demo    compare two PostgreSQL versions, in under five minutes, and write a report"
	@echo "make test    run all tests"
	@echo "make check   formatters, linters, types, and the rules of STYLE.md"
	@echo "make bench   what the load generator costs beside pgbench, sysbench and others, about half an hour"
	@echo "make calibrate   how often verdicts are wrong, by simulation, about ten minutes"
	@echo "make clean   remove what was built (results and fetched servers stay)"

setup:
	@tools/setup

demo: setup
	@$(ENTER) dyno demo

# Both halves run whatever the other says; pytest's closing line stands last when all is well.
test: setup servers
	@$(ENTER) status=0; \
	cargo test --locked --quiet || status=$$?; \
	python -m pytest $(PYTEST) || status=$$?; \
	[ $$status -eq 0 ] || echo "make test: failed, see above" >&2; \
	exit $$status

servers: setup
	@$(ENTER) for version in $(TEST_SERVERS); do \
	    dyno server fetch postgres $$version >/dev/null || \
	        echo "make test: PostgreSQL $$version cannot be had; tests that need it are skipped" >&2; \
	done

check: setup
	@$(ENTER) status=0; \
	step() { "$$@" || { status=1; echo "make check: failed: $$*" >&2; }; }; \
	step ruff format --check --quiet .; \
	step ruff check --quiet .; \
	step mypy; \
	step cargo fmt --check; \
	step cargo clippy --locked --quiet --all-targets -- --deny warnings; \
	step python tools/tidy.py; \
	exit $$status

bench: setup
	@$(ENTER) cargo build --locked --release --quiet --example bare_loop; python tools/bench

calibrate: setup
	@$(ENTER) python tools/calibrate.py

clean:
	rm -rf target .venv .tools dist
