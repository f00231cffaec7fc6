# `make demo` shows the main job, `make test` runs every check. Both do all set-up first: Python 3.11 or newer and make
# are enough. Another interpreter: `make PY=/path/to/python`.

SHELL := /bin/sh
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
MODERN := import sys; sys.exit(sys.version_info < (3, 11))

# The first interpreter that really runs; a name on PATH can be a shim with nothing behind it.
PY ?= $(shell for name in python3.13 python3.12 python3.11 python3; do \
	"$$name" -c 'import sys; print(sys.executable); $(MODERN)' 2>/dev/null && break; done | tail -n 1)
PIP_FLAGS := --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo test fast lint browser bench rivals prove fuzz mutate lock clean

help: ## this list
	@sed -n 's/^\([a-z]*\):[^#]*## /\1|/p' $(MAKEFILE_LIST) | while IFS='|' read -r name text; do printf '  make %-6s %s\n' "$$name" "$$text"; done

demo: $(READY) ## the adaptive-optics problem end to end: equations, forces, proof and motion on one page
	@mkdir -p build
	$(BIN)/holdfast run src/holdfast/examples/adaptive_optics.toml -o build/adaptive_optics.html
	@echo "open build/adaptive_optics.html in a browser; it is complete and needs no network"

test: $(READY) ## lint, types and the full test suite
	@$(MAKE) --no-print-directory -j 2 lint browser
	$(BIN)/python -m pytest -q -n 2 --dist worksteal

fast: $(READY) ## the tests that take a moment
	$(BIN)/python -m pytest -q -m "not slow and not prove"

lint: $(READY) ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY) ## measure, and write benchmarks/results
	$(BIN)/python -m benchmarks.run
	$(BIN)/python -m benchmarks.felt

browser:
	@sh tools/browser.sh

rivals: ## the same problems by MuJoCo, Pinocchio, JAX and heyoka, in an environment of its own; writes docs/benchmarks.md
	$(PY) -m venv .venv-rivals
	.venv-rivals/bin/pip install $(PIP_FLAGS) -r requirements.lock
	@for name in mujoco pin jax heyoka; do .venv-rivals/bin/pip install $(PIP_FLAGS) $$name || echo "no $$name here"; done
	PYTHONPATH=src .venv-rivals/bin/python -m benchmarks.rivals

prove: $(READY) ## the long proofs and scans
	@sh tools/axe.sh
	$(BIN)/python -m pytest -q -m prove

fuzz: $(READY) ## mutated problem files through loading, deriving, runs and pages; SEED=7 repeats an attack
	$(BIN)/python -m tests.fuzz.attack load 5000 $(if $(SEED),--seed $(SEED))
	$(BIN)/python -m tests.fuzz.attack load 1000 --guided $(if $(SEED),--seed $(SEED))
	$(BIN)/python -m tests.fuzz.attack derive 1000 $(if $(SEED),--seed $(SEED))
	$(BIN)/python -m tests.fuzz.attack page 50 $(if $(SEED),--seed $(SEED))

mutate: $(READY) ## 200 small faults in four rooms: how many the tests notice; SEED=7 takes others, COUNT=20 fewer
	$(BIN)/python -m tools.mutate $(if $(SEED),--seed $(SEED)) $(if $(COUNT),--count $(COUNT)) $(if $(NEAR),--near)

lock: ## refresh requirements.lock (needs uv; UPGRADE=--upgrade moves every pin)
	@command -v uv >/dev/null 2>&1 || { echo "make lock needs uv on PATH (pip install uv)"; exit 1; }
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header $(UPGRADE) \
		--extra dev pyproject.toml -o requirements.lock
	@! grep -n '://' requirements.lock || { echo "requirements.lock names a host"; exit 1; }

clean: ## remove the environment and everything built
	rm -rf $(VENV) .venv-rivals build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage htmlcov
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# ---------------------------------------------------------------- set-up, once

$(READY): requirements.lock pyproject.toml
	@python='$(PY)'; \
	test -n "$$python" && "$$python" -c '$(MODERN)' 2>/dev/null || { \
		echo "Holdfast needs Python 3.11 or newer, and none was found on PATH."; \
		echo "  fix: install one, or name it: make PY=/path/to/python"; exit 1; }; \
	"$(BIN)/python" -c '$(MODERN)' 2>/dev/null || rm -rf $(VENV); \
	by_uv() { \
		uv venv --quiet --allow-existing --python "$$python" $(VENV) && \
		uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements.lock && \
		uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .; }; \
	by_pip() { \
		if "$$python" -m venv $(VENV) >/dev/null 2>&1; then set -- $(BIN)/python -m pip; \
		else \
			rm -rf $(VENV) && "$$python" -m venv --without-pip $(VENV) && "$$python" -m pip --version >/dev/null || { \
				echo "This Python can make no environment: it has neither ensurepip nor pip."; \
				echo "  fix: install its venv package (Debian: python3-venv), or put uv on PATH"; return 1; }; \
			set -- "$$python" -m pip --python $(BIN)/python; \
		fi; \
		"$$@" install $(PIP_FLAGS) --require-hashes -r requirements.lock && \
		"$$@" install $(PIP_FLAGS) --no-deps --no-build-isolation -e .; }; \
	if command -v uv >/dev/null 2>&1; then \
		echo "setting up $(VENV) with uv and $$python"; \
		by_uv || { echo "uv could not do it; trying venv and pip"; rm -rf $(VENV); by_pip; }; \
	else \
		echo "setting up $(VENV) with venv, pip and $$python (a minute or two)"; by_pip; \
	fi
	@touch $@
