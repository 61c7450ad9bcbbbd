# The commands of the laboratory. `make help` lists them. Each installs its requirements and is quick if nothing changed.
# Use the same interpreter for every build; otherwise cargo would rebuild.
export PYO3_PYTHON := $(CURDIR)/.venv/bin/python
# The versions with which the tests pass. Projects that depend on the package may use others.
export PIP_CONSTRAINT := constraints.txt
export PIP_QUIET := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help install demo check test page wheel docs bench static suites fidelity clean

RUST_SOURCES := Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name Cargo.toml)
# Build profile of the simulator. `make install PROFILE=quick` builds faster, for development.
PROFILE ?= release
# Print the output only on failure.
develop = CARGO_TERM_QUIET=true tools/rust .venv/bin/maturin develop --profile $(PROFILE) --quiet $(1) \
	>.venv/.build.log 2>&1 || { cat .venv/.build.log; exit 1; }

help: ## list these commands
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

install: .venv/.installed ## only install: afterwards .venv/bin/lopsided runs

demo: .venv/.installed ## install everything, run scenarios/adsl.toml and re-run the study merritt2010
	@.venv/bin/lopsided run scenarios/adsl.toml
	@echo
	@.venv/bin/lopsided reproduce merritt2010

check: .venv/.checkers ## the checks that take seconds: layout, lint, types, unit tests
	@tools/test quick

test: .venv/.checkers ## install everything and run every test
	@tools/test

page: ## build the interactive page, for `lopsided page`: needs Node 18 and rustup
	@tools/page

wheel: .venv/.installed ## pack a source archive and a wheel into dist/ and try them; PGO=1: faster by a tenth
	@tools/wheel $(PROFILE) $(if $(PGO),--pgo)
	@tools/newcomer

docs: .venv/.installed ## build the documentation site into site/; a broken link is an error
	@tools/docs

bench: .venv/.installed ## measure the simulator, beside ns-2 and ns-3 where they are installed
	@tools/rust .venv/bin/python bench/run.py

static: ## build lopsided-live, for routers: one file that needs neither Python nor a library
	@RUSTFLAGS="-C target-feature=+crt-static" tools/rust cargo build --release --package lopsided-live --bin lopsided-live \
		--target $$(tools/rust rustc -vV | sed -n 's/^host: //p')
	@ls -l target/*/release/lopsided-live

suites: .venv/.installed ## run every control and discipline through the standard suites and write docs/results
	@.venv/bin/python tools/suites

fidelity: .venv/.installed ## repeat outdated runs on Linux and write outdated pages of docs/fidelity
	@.venv/bin/lopsided doctor
	@.venv/bin/python -m reference.fidelity.state --record --minutes 600

clean: ## remove what was built and installed here
	rm -rf target site .venv web/node_modules python/lopsided/views/bundle

# The stamps are stored in the environment that they describe, so they disappear with it.
.venv/.maturin: tools/setup tools/rust constraints.txt
	@echo "Setting up"
	@tools/setup
	@.venv/bin/python -m pip install 'maturin>=1.9,<2'
	@touch $@

.venv/.installed: .venv/.maturin pyproject.toml constraints.txt $(RUST_SOURCES)
	@echo "Installing the Python packages and building the simulator (a minute or two the first time)"
	@$(call develop,--extras search)
	@touch $@

.venv/.checkers: pyproject.toml constraints.txt tools/setup tools/rust | .venv/.installed
	@tools/setup test
	@$(call develop,--extras dev)
	@touch $@
