# gitops-dsf: every command a contributor needs. `make help` lists them.
PYTHON ?= python3
VENV := .venv
UV_VERSION := 0.13.8
UV := $(VENV)/bin/uv
PY := $(VENV)/bin/python
FAMILY ?= kubernetes,ocm,argocd,argocdgenerator,streaming,prometheus,consumers,actionlint,kubelet
PYTEST_ARGS ?=
# One more than the usual machine has cores: tests wait for processes and sockets, too. Each process
# collects all tests, so more of them cost more than they gain.
TEST_WORKERS ?= 3
# Tests write a hundred thousand small files. On a disk the suite takes a twentieth more of the
# processor, and tests that use git take a sixth more. A container has 64 MB of memory for files,
# which is too little.
SCRATCH ?= $(shell test "$$(df --output=avail /dev/shm 2>/dev/null | tail -n 1)" -gt 4000000 2>/dev/null && echo /dev/shm)
IN_MEMORY := $(if $(SCRATCH),TMPDIR=$(SCRATCH))
# Each has a control plane of its own, with about 2.5 GB of memory.
HUB_WORKERS ?= 2
DEMO_ARGS ?=
CASES ?=
NAME ?= $(patsubst benchmarks/bench_%.py,%,$(wildcard benchmarks/bench_*.py))
# Of all readers of make fuzz.
MINUTES ?= 10
MODULE ?=
IMAGES ?=
ARCHITECTURE ?=
BASE ?=
# What gitops-dsf needs, with hashes. Its own distributions stand above, without: `init --wheels` adds theirs.
HASHED := repo-template/on-request/hashes/requirements.txt
REQUIREMENTS := export --quiet --frozen --package gitops-dsf --no-dev --no-emit-workspace --no-header --no-annotate
.DEFAULT_GOAL := help
# pytest compiles every test anew, in every worker, where it may not keep what it compiled.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help install test check soak hub-programs test-hub soak-hub fuzz world lint audit format bench demo golden schemas version lock wheel images release site screenshots clean

help: ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 20

install: $(VENV)/.installed ## .venv with everything from the lock file

$(VENV)/.installed: pyproject.toml packages/wire/pyproject.toml packages/scorer/pyproject.toml packages/runtime/pyproject.toml agent/pyproject.toml uv.lock
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "gitops-dsf needs Python 3.11 or newer; set PYTHON=/path/to/python3.11")'
	$(MAKE) --no-print-directory $(UV)
	$(UV) sync --quiet --frozen --all-packages --all-extras --group dev --inexact --compile-bytecode
	$(PY) -m compileall -q -j 0 gitops_dsf packages agent
	touch $@

$(UV):
	test -x $(PY) || $(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)

test: install ## the tests that need no control plane
	$(IN_MEMORY) $(PY) -m pytest tests --ignore=tests/hub -m "not soak" -n $(TEST_WORKERS) --dist loadgroup --no-loadscope-reorder -o tmp_path_retention_policy=failed $(PYTEST_ARGS)

check: install ## lint, types and the unit tests; the rest is for make test
	$(VENV)/bin/ruff format --check --quiet .
	$(VENV)/bin/ruff check --quiet .
	$(VENV)/bin/mypy
	$(PY) -m pytest tests/unit -m "not soak" -n $(TEST_WORKERS) --dist loadgroup -q $(PYTEST_ARGS)

soak: install ## what is slow by nature: images and releases, the laws with many examples
	$(PY) -m pytest tests --ignore=tests/hub -m "soak or hypothesis" --hypothesis-profile soak --timeout 3600 $(PYTEST_ARGS)

hub-programs: install ## build what test-hub runs, once: afterwards it is in a cache (GITOPS_DSF_CACHE)
	$(PY) -m tests.hub.controlplane.binaries --family $(FAMILY)

test-hub: hub-programs ## real kube-apiservers with OCM, Argo CD and Prometheus on 127.0.0.1 (FAMILY=kubernetes,ocm for a subset)
	FAMILY=$(FAMILY) RECORD=$(RECORD) $(PY) -m pytest tests/hub -m "not soak" -n $(HUB_WORKERS) --dist loadfile --no-loadscope-reorder $(PYTEST_ARGS)

soak-hub: hub-programs ## the same for a leader that is frozen at every read, and more than a hundred clusters
	FAMILY=$(FAMILY) $(PY) -m pytest tests/hub -m soak --timeout 1200 $(PYTEST_ARGS)

fuzz: install ## inputs that break what reads text of others (MINUTES=10 for all of them)
	$(UV) sync --quiet --frozen --all-packages --all-extras --group dev --group fuzz --inexact
	$(PY) -m tests.fuzz $(MODULE) --minutes $(MINUTES)

world: install ## the whole system on a virtual clock, with faults that a seed draws (SEED=7 HOURS=24 for one, SECONDS=60 for many)
	$(PY) -m tests.world $(if $(SEED),--seed $(SEED)) $(if $(HOURS),--hours $(HOURS)) $(if $(SECONDS),--seconds $(SECONDS)) $(if $(FIRST),--first $(FIRST)) $(if $(COUNT),--count $(COUNT)) \
	  $(if $(CLUSTERS),--clusters $(CLUSTERS)) $(if $(APPLICATIONS),--applications $(APPLICATIONS)) $(if $(FAULTS),--faults $(FAULTS)) $(WORLD_ARGS)

lint: install ## formatter, linter, types, import contracts, workflows
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports
	$(VENV)/bin/zizmor --offline --no-progress --quiet --persona pedantic --strict-collection .

format: install ## rewrite the code in the project's format
	$(VENV)/bin/ruff format .
	$(VENV)/bin/ruff check --fix .

audit: install ## known vulnerabilities in everything that uv.lock names (asks the package index)
	$(UV) sync --quiet --frozen --all-packages --all-extras --group dev --group audit --inexact
	$(UV) export --quiet --frozen --all-packages --all-extras --all-groups --no-emit-workspace --output-file .venv/audit.txt
	$(PY) -m pip_audit --strict --disable-pip --require-hashes --requirement .venv/audit.txt

schemas: install ## refresh what is generated: schemas/, docs/reference/fields/ and docs/reference/diagnostics.md
	$(PY) -m gitops_dsf schema --out schemas
	$(PY) -m tools.reference
	$(PY) -m tools.diagnostics

version: install ## print the version, or write a new one everywhere (VERSION=X.Y.Z)
	$(PY) -m tools.version $(VERSION)
	$(if $(VERSION),$(MAKE) schemas golden)

lock: $(UV) ## refresh the lock file, and the requirements of new fleet repositories
	$(UV) lock
	grep -E '^(#|./wheels/)' $(HASHED) > $(HASHED).new
	$(UV) $(REQUIREMENTS) >> $(HASHED).new
	mv $(HASHED).new $(HASHED)

golden: install ## record what is rendered, what people read, the JSON of verbs, and the public Python API
	$(PY) -m pytest tests/golden tests/contract/test_python_api.py --update-golden -q

demo: install ## the whole loop on this machine, in about a minute (DEMO_ARGS=--fast for less time to watch)
	$(PY) -m demo $(DEMO_ARGS)

bench: install ## every benchmark, one after another, with goals (NAME=render for some)
	@missed=; for each in $(NAME); do echo "== $$each"; $(PY) -m benchmarks.bench_$$each || missed="$$missed $$each"; done; \
	test -z "$$missed" || { echo "missed a goal or failed:$$missed"; exit 1; }

wheel: install ## the five distributions into dist/
	$(UV) build --quiet --all-packages --wheel --out-dir dist

images: install ## three OCI images and their bills of materials into dist/ (buildah; IMAGES="agent cli" for some, ARCHITECTURE=arm64, BASE=another base)
	$(PY) -m tools.release --images $(IMAGES) $(addprefix --architecture ,$(ARCHITECTURE)) $(addprefix --base ,$(BASE)) --out dist

screenshots: install ## pictures of pages for the documentation, taken with Chromium (CASES=all for comments of previews, into dist/pictures)
	$(if $(CASES),,$(PY) -m tools.screenshots)
	$(PY) -m tests.pictures $(CASES)

site: install ## the documentation site into dist/site; a broken link fails the build
	$(UV) sync --quiet --frozen --all-packages --all-extras --group dev --group site --inexact
	$(PY) -m tools.site --out dist/site

release: install ## everything that a release publishes into dist/, with checksums (buildah; docs/contributing/releasing.md)
	$(PY) -m tools.release --out dist

clean: ## remove what make install and the tests left
	rm -rf $(VENV) dist build demo-out .pytest_cache .mypy_cache .ruff_cache .hypothesis
