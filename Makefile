# Every target installs what it needs. Only Python >= 3.11 and a Rust toolchain must already exist.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CARGO_TARGET_DIR ?= $(CURDIR)/target
export CARGO_TARGET_DIR
PYTEST := env LEVELFLOW_NET=$(CARGO_TARGET_DIR)/debug/levelflow-net $(BIN)/python -m pytest
# Installs a list of requirements of pyproject.toml.
INSTALL = $(BIN)/python -c 'import subprocess, sys, tomllib; config = tomllib.load(open("pyproject.toml", "rb")); \
	sys.exit(subprocess.call([sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", *$(1)]))'
# Installs the package and its engine, `crates/py`. maturin prefers an active environment to .venv.
DEVELOP := env -u CONDA_PREFIX VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --quiet
QUICK := --profile quick --features extension-module
RUNNER = target."cfg(unix)".runner = ["$(CURDIR)/tools/rust_test", "$(1)"]
# Profile-guided optimisation of a wheel's engine, used after `rustup component add llvm-tools`. The engine is then
# compiled twice. tools/train.py contains the runs that are profiled.
PROFILED = $(if $(wildcard $(shell rustc --print sysroot)/lib/rustlib/*/bin/llvm-profdata),--pgo)
RUST := $(shell find crates apps -name '*.rs' -o -name 'Cargo.toml') Cargo.toml Cargo.lock

# With FULL=1, tests that take minutes run, and property tests use more examples.
FULL ?=
ifeq ($(FULL),)
export PROPTEST_CASES ?= 32
export BOLERO_RANDOM_ITERATIONS ?= 50
else
export LEVELFLOW_FULL := 1
endif

.PHONY: help demo quick packages fast net lab test built programs page virtual virtual_rust virtual_python real real_first real_again check sanitize bench bench-peers tables gen site wheel deb deny
.DEFAULT_GOAL := help

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/installed ## set up, compare JetMax, EMKC and RCP on one bottleneck, draw pictures
	@$(BIN)/levelflow demo
	@echo "  (after: source $(VENV)/bin/activate)"

quick: $(VENV)/created ## rebuild the engine after an edit of Rust code, incrementally
	$(DEVELOP) $(QUICK) --skip-install
	@[ ! -e $(VENV)/installed ] || [ pyproject.toml -nt $(VENV)/installed ] || touch $(VENV)/installed

fast: $(VENV)/installed ## build the engine fully optimised, as in a wheel; takes minutes
	$(DEVELOP) --release --skip-install

net: $(VENV)/created ## build levelflow-net and install it next to levelflow
	cargo build --release -p levelflow-net
	@install $(CARGO_TARGET_DIR)/release/levelflow-net $(BIN)/levelflow-net
	@echo "$(BIN)/levelflow-net --help"
	@$(BIN)/levelflow-net --version | grep "kernel router: no" || true

lab: apps/lab/page/engine.wasm ## build the page of `levelflow lab`; needs npm

apps/lab/page/engine.wasm: $(RUST) $(wildcard apps/lab/web/* apps/lab/web/*/*) apps/lab/build apps/lab/package-lock.json
	apps/lab/build

test: ## set up, and run every test; FULL=1 includes those that take minutes
	@$(MAKE) --no-print-directory --jobs=2 built
	@$(MAKE) --no-print-directory --jobs=3 virtual real_first
	@$(MAKE) --no-print-directory real_again

# Everything that tests need. The parts have separate build folders, so they are built in parallel.
built: $(VENV)/dev programs page
programs:
	cargo test --workspace --no-run
page:
	@$(MAKE) --no-print-directory lab || echo "the lab is not built: its tests are skipped, or fail if LEVELFLOW_REQUIRE contains node"

# Tests in virtual time, in parallel on all cores.
virtual: virtual_rust virtual_python
virtual_rust:
	cargo test --workspace --config '$(call RUNNER,virtual)'
virtual_python: $(VENV)/dev
	$(PYTEST) -m "not real_time" -n auto --dist worksteal

# Tests on real kernels and clocks, one at a time, with priority over other processes.
# A test that fails on a busy machine is repeated at the end, when no other tests are running.
real: $(VENV)/dev
	@$(MAKE) --no-print-directory real_first
	@$(MAKE) --no-print-directory real_again
real_first: $(VENV)/dev
	@rm -f $(CARGO_TARGET_DIR)/deferred.jsonl
	cargo test --workspace --lib --bins --tests --config '$(call RUNNER,real)'
	$(BIN)/python tools/real_time.py first $(PYTEST) -m real_time
real_again:
	@$(BIN)/python tools/real_time.py again

check: $(VENV)/dev ## check format, lints, types and words
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --all-features -- -D warnings
	$(BIN)/ruff format --check python tools experiments tests papers docs/*/draw.py
	$(BIN)/ruff check python tools experiments tests papers docs/*/draw.py
	$(BIN)/mypy --num-workers 2
	apps/lab/check
	$(BIN)/python tools/check_words.py

sanitize: ## detect data races between the threads of a run; takes 15 minutes, needs rustup component add rust-src
	RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=thread CARGO_TARGET_DIR=$(CARGO_TARGET_DIR)/sanitize \
		cargo test -Zbuild-std --target "$$(rustc --print host-tuple)" -p levelflow-sim --test engine threads::

bench: fast ## measure the CPU time per packet-hop, also of ns-2 if it is installed
	@$(BIN)/python -m tools.bench

bench-peers: fast ## run the same work in ns-2, ns-3 and other simulators, in turn; PEERS="--ns3 PYTHON --peer NAME=PROGRAM"
	@$(BIN)/python -m experiments.bench_peers $(PEERS)

tables: $(VENV)/installed ## compute all tables of adaptive buffers; fails if abs_log misses a target; takes ten minutes
	@$(BIN)/python -m experiments.buffer_tables --full

gen: $(VENV)/dev ## generate docs/reference, the tables of docs/laws and the types of keys; run notebooks
	@$(BIN)/python -m tools.reference
	@$(BIN)/python -m tools.notebooks

site: $(VENV)/created lab ## build the documentation into target/site/html, strictly
	$(call INSTALL,config["project"]["optional-dependencies"]["site"])
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m tools.site

wheel: $(VENV)/installed lab ## build the wheel with the licences of what it holds, into target/wheels
	$(BIN)/python tools/licences.py
	$(BIN)/maturin build --release $(PROFILED)

deb: net ## build the Debian package of levelflow-net, into target/packages
	strip --strip-all -o $(CARGO_TARGET_DIR)/release/levelflow-net.stripped $(CARGO_TARGET_DIR)/release/levelflow-net
	packaging/deb/build $(CARGO_TARGET_DIR)/release/levelflow-net.stripped "$$(dpkg --print-architecture)" $(CARGO_TARGET_DIR)/packages

deny: ## check licences, sources and known vulnerabilities of the crates; needs cargo-deny
	cargo deny check

$(VENV)/created:
	@command -v cargo >/dev/null || { echo "levelflow needs a Rust toolchain (cargo): https://rustup.rs" >&2; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "levelflow needs Python >= 3.11; $(PYTHON) is $$($(PYTHON) --version); try make PYTHON=python3.12" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(call INSTALL,config["build-system"]["requires"])
	@touch $@

# The engine is compiled while packages are downloaded.
$(VENV)/installed: $(VENV)/created pyproject.toml $(RUST)
	@$(MAKE) --no-print-directory --jobs=2 quick packages
	@$(DEVELOP) $(QUICK)
	@touch $@
packages:
	$(call INSTALL,config["project"]["dependencies"])

$(VENV)/dev: $(VENV)/installed
	$(call INSTALL,config["project"]["optional-dependencies"]["dev"])
	@touch $@
