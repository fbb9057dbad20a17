# commwall needs Python 3.11 or newer, git and make; everything else is made here.
#   make report    measure what this machine may and must, and render the pages
#   make slurm     the same behind Slurm
#   make help      all targets

SHELL := /bin/bash
PYTHON ?= python3
# Extra words for Snakemake, for instance: make report FLAGS=-n
FLAGS ?=

# No list of inputs for each job; `snakemake --cores all` shows them.
QUIET := --quiet rules reason host

# Images of containers may forbid bytecode; then every start of a program compiles it anew.
unexport PYTHONDONTWRITEBYTECODE

DRIVER := .venv
SLURM := .envs/slurm
TEST := .envs/dev
STAMP := .commwall-lock

.DEFAULT_GOAL := help
.PHONY: help report slurm test check docs messages format clean driver dev python

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | column -t -s '|'

report: driver ## measure what is missing, render everything; the pages are results/site/index.html
	@$(call workflow,$(DRIVER),$(QUIET) --cores all)

slurm: python ## the same behind Slurm: its nodes measure, this machine renders
	@$(call environment,$(SLURM),envs/slurm.lock)
	@$(call workflow,$(SLURM),--profile profiles/slurm)

test: dev ## run all tests, in one pytest run
	$(TEST)/bin/python -m pytest --numprocesses=2 --no-loadscope-reorder --durations=15 $(FLAGS)

check: dev ## style, types, layers, generated pages, unit and contract tests; about a minute
	$(TEST)/bin/python -m ruff check
	$(TEST)/bin/python -m ruff format --check
	$(TEST)/bin/python -m snakefmt --check Snakefile workflow
	$(TEST)/bin/python -m mypy
	$(TEST)/bin/python -c 'from importlinter.cli import lint_imports_command; lint_imports_command()'
	$(TEST)/bin/python docs/generate.py --check
	$(TEST)/bin/python -m pytest -q tests/unit tests/contracts tests/workflow/test_rules.py

docs: dev ## write the generated pages and the README's figure anew
	$(TEST)/bin/python docs/generate.py
	$(TEST)/bin/python docs/finding.py

messages: dev ## bring the catalogues of other languages up to date
	$(TEST)/bin/python docs/messages.py

format: dev ## lay out the code
	$(TEST)/bin/python -m ruff format
	$(TEST)/bin/python -m ruff check --fix
	$(TEST)/bin/python -m snakefmt Snakefile workflow

clean: ## remove all that can be made again, environments too; plans and records stay
	rm -rf $(DRIVER) .envs .cw .snakemake logs build .pytest_cache .mypy_cache .ruff_cache \
	    results/site results/*/attempts results/*/index.json results/*/tables results/*/notebooks results/pages
	@echo "Plans and records stay in results/: they are evidence and cost machine time." \
	    "To give them up, delete results/<campaign>/ yourself."

driver: python
	@$(call environment,$(DRIVER),envs/driver.lock)

dev: python
	@$(call environment,$(TEST),envs/dev.lock,--no-compile)

python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "commwall needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1)." \
	        "Name another one: make PYTHON=/path/to/python3.12 …" >&2; exit 2; }

# Ends with the verdicts and the page to open unless the start was refused (2), and with
# Snakemake's exit code.
define workflow
$(1)/bin/python -m snakemake $(2) $(FLAGS); code=$$?; \
    [ $$code = 2 ] || $(1)/bin/python -m commwall pages; exit $$code
endef

# An environment is made when it is missing, made from another lock or left half-made: its
# copy of the lock is written last. It finds the package by a relative path, so that the
# checkout may be moved. The tests import a part of theirs, which is compiled when it is imported.
define environment
set -euo pipefail; \
if ! cmp --silent $(2) $(1)/lock; then \
    echo "making $(1) from $(2)"; \
    rm -rf $(1); \
    $(PYTHON) -m venv $(1); \
    $(1)/bin/python -m pip install --quiet --disable-pip-version-check $(3) -r $(2); \
    python="$$PWD/$(1)/bin/python"; \
    (cd src && "$$python" -c 'from pathlib import Path; \
        from commwall.host.environments import attach_package; \
        root = Path("..").resolve(); attach_package(root, root / "$(1)")'); \
    cp $(2) $(1)/lock; \
fi
endef
