# Every target first prepares the checkout (tools/setup): uv, Rust, .venv with `dyno` and its binaries.
# Needed beforehand: Debian or Ubuntu with Python 3.11 or newer, a C compiler, git and make.

SHELL := /bin/bash
ENTER := set -euo pipefail; source .tools/env;
# The servers that tests ask for; fetched once, kept in the cache, no database is made of them. MySQL 9.7 comes from the
# official archive alone; where that does not answer, 5.5.9 stands for the family.
TEST_SERVERS := postgres/12 postgres/18 mariadb/11.4.5 mysql/9.7,5.5.9
ALL_SERVERS := postgres/17 mariadb/10.2.11 mariadb/10.11.5

.PHONY: help setup lean missing demo wheel update pictures test test-all soak test-slow check bench calibrate docs clean
.DEFAULT_GOAL := help

help:
	@echo "make setup   prepare this checkout"
	@echo "make demo    compare PostgreSQL 12 with 18, in under five minutes, and write a report"
	@echo "make wheel   make a wheel in dist/ that installs on any Linux without Rust or C, a quarter of an hour once;"
	@echo "             ARCH=aarch64 for another processor's architecture than this machine's"
	@echo "make update  bring both lock files up to date, and run the tests"
	@echo "make pictures   take the three pictures of docs/ anew, from a race on this machine"
	@echo "make check   formatters, linters, types, and the rules of STYLE.md: before a commit"
	@echo "make test    run the tests, about nine minutes once built: before a push"
	@echo "make test-all   run all others: every version and option, Slurm, ssh, profiles, 20 minutes"
	@echo "make soak    run what takes hours: suites on every version, random kills"
	@echo "make test-slow SOURCE=postgresql-18.6.tar.bz2   build that PostgreSQL and start it, some minutes"
	@echo "make bench   what the load generator costs beside pgbench, sysbench and others, about half an hour"
	@echo "make calibrate   how often verdicts are wrong, by simulation, about ten minutes"
	@echo "make docs    the documentation as a site, target/site/index.html"
	@echo "make clean   remove what was built (results and fetched servers stay)"

setup:
	@tools/setup

# The same for tests and checks, with programs that take a third of the time to compile.
lean:
	@tools/setup --lean

demo: setup
	@$(ENTER) dyno demo

# The oldest glibc that Rust's standard library runs with. This machine's linker would ask for this machine's glibc;
# Zig's has the symbols of old ones, also of another architecture (ARCH=aarch64).
GLIBC := 2_17
ARCH := $(shell uname -m)

# One wheel in dist/, as it is copied from there by `dist/*.whl`, and its bill of software (CycloneDX): of Python by
# requirements.lock, of Rust as maturin puts it into the wheel.
wheel:
	@tools/setup --tools
	@$(ENTER) mkdir -p dist; made=$$(mktemp --directory dist/made.XXXXXX); trap 'rm -rf "$$made"' EXIT; \
	tool() { "$$UV" tool run --quiet --constraints requirements.lock --from "$$@"; }; \
	target=$(ARCH)-unknown-linux-gnu; library=$$(rustc --print target-libdir --target $$target); \
	[ -d "$$library" ] || rustup --quiet target add $$target; \
	tool 'maturin[zig]' maturin build --quiet --locked --release --strip --zig --target $$target \
	    --compatibility manylinux_$(GLIBC) --out "$$made"; \
	name=$$(basename "$$made"/*.whl); name=$${name%%-py3-*}; \
	"$$UV" pip compile --quiet --universal --generate-hashes --no-header --no-annotate \
	    --constraints requirements.lock pyproject.toml | \
	    PYTHONWARNINGS=ignore tool 'cyclonedx-bom>=7,<8' cyclonedx-py requirements --short-PURLs --output-reproducible \
	        --pyproject pyproject.toml --output-file "$$made/$$name.python.cdx.json" -; \
	unzip() { "$$UV" run --quiet --no-project python -m zipfile --extract "$$@"; }; \
	unzip "$$made"/*.whl "$$made/whole"; \
	mv "$$made/whole/$$name.dist-info/sboms/dbdyno.cyclonedx.json" "$$made/$$name.rust.cdx.json"; \
	rm -f dist/*.whl dist/*.cdx.json; mv "$$made"/*.whl "$$made"/*.cdx.json dist/; ls -l dist/*.whl dist/*.cdx.json

# What lies in the lock files is what everybody gets; here they move on.
update: setup
	@$(ENTER) "$$UV" pip compile --quiet --upgrade --universal --generate-hashes --no-header --no-emit-index-url \
	    --all-extras --group dev --output-file requirements.lock pyproject.toml; \
	cargo update --quiet; tools/setup --lean; python tools/vega_script.py
	@$(MAKE) test

pictures: setup
	@$(ENTER) python tools/pictures.py

# Says first what tests will be skipped for want of.
missing:
	@tools/missing

# Tests that need a server have a lab of their own in each process (tests/own_lab.py); what shares a server comes to one
# process (tests/conftest.py). ARGUMENTS go to pytest: make test ARGUMENTS='-k fairness'. With PYTHONDONTWRITEBYTECODE
# each process of tests, and each `dyno` that they start, would compile all modules anew.
TESTS = unset PYTHONDONTWRITEBYTECODE; DYNO_TEST_NOTES=$$(tools/fetch_servers $(1)) python tools/suite.py

test: missing lean
	@$(ENTER) $(call TESTS,$(TEST_SERVERS)) $(ARGUMENTS)

test-all: missing lean
	@$(ENTER) $(call TESTS,$(TEST_SERVERS) $(ALL_SERVERS)) --all $(ARGUMENTS)

soak: lean wheel
	@$(ENTER) tools/fetch_servers $(TEST_SERVERS) $(ALL_SERVERS); python -m pytest -n 8 --dist loadgroup -m soak $(ARGUMENTS)

test-slow: lean
	@$(ENTER) DYNO_SOURCE="$(SOURCE)" python -m pytest -m slow $(ARGUMENTS)

# Those of Rust run beside the others, of which each has one processor.
check: lean
	@$(ENTER) status=0; log=$$(mktemp); trap 'rm -f "$$log"' EXIT; \
	step() { "$$@" || { status=1; echo "make check: failed: $$*" >&2; }; }; \
	rust() { \
	    step cargo fmt --check; \
	    step cargo clippy --locked --quiet --all-targets -- --deny warnings; \
	    return $$status; \
	}; \
	rust >"$$log" 2>&1 & \
	step ruff format --check --quiet .; \
	step ruff check --quiet .; \
	step mypy; \
	step mypy --config-file tests/mypy.ini; \
	imports() { local said; said=$$(lint-imports --no-logo) || { echo "$$said"; return 1; }; }; \
	step imports; \
	step python tools/tidy.py; \
	step python tools/ratchet.py; \
	wait $$! || status=1; \
	cat "$$log"; \
	exit $$status

bench: setup
	@$(ENTER) cargo build --locked --release --quiet --example bare_loop; python tools/bench

calibrate: setup
	@$(ENTER) python tools/calibrate.py

# mkdocs' theme warns at each build that it has a successor (ARCHITECTURE.md, dependencies).
docs: setup
	@$(ENTER) NO_MKDOCS_2_WARNING=1 mkdocs build --strict --quiet; echo target/site/index.html

clean:
	rm -rf target .venv .tools dist
