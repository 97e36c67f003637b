# Everything sets itself up: a virtual environment in .venv, from the pinned constraints. Re-runs are quick.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OUT ?= report
INSTALL := PIP_CONSTRAINT=$(CURDIR)/constraints.txt PIP_BUILD_CONSTRAINT=$(CURDIR)/constraints.txt \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: help report docs fuzz site bench bench-samplers bench-coverage bench-accounting bench-everyday bench-auditors bench-implementation bench-training bench-reading golden package test test-slow test-peers lint format constraints clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

report: $(VENV)/.installed ## claims, programs, protocols in one document, $(OUT)/index.html; rechecks the proofs
	$(BIN)/ldp-audit report --out $(OUT) $(ARGS)
	$(BIN)/ldp-audit recheck $(OUT)/report.json

# Two processes: threads of theirs inside numpy would only wait for each other.
ONE_THREAD := OPENBLAS_NUM_THREADS=1

test: $(VENV)/.installed-dev ## the whole suite
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 $(ARGS)

test-slow: $(VENV)/.installed-dev ## the suite with its checks at full size
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 --slow $(ARGS)

test-peers: ## the adapters against the real libraries, in an environment of their own (.venv-peers)
	test -x .venv-peers/bin/python || $(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[peers]'
	.venv-peers/bin/python -m pytest tests/auditing/adapters $(ARGS)

# The wheel is built from the source distribution, and tried in an environment and a folder that know nothing of the checkout.
package: $(VENV)/.installed-dev ## build both distributions, install the wheel elsewhere, run the README there
	rm -rf dist
	PIP_CONSTRAINT=$(CURDIR)/constraints.txt $(BIN)/python -m build --outdir dist . >/dev/null
	elsewhere=$$(mktemp -d) && trap 'rm -rf "$$elsewhere"' EXIT && cp README.md tests/meta/snippets.py "$$elsewhere" && \
	$(PYTHON) -m venv "$$elsewhere/venv" && PIP_CONSTRAINT=$(CURDIR)/constraints.txt "$$elsewhere/venv/bin/python" -m pip install \
		--quiet --disable-pip-version-check dist/*.whl pytest && cd "$$elsewhere" && venv/bin/python snippets.py README.md

bench: $(VENV)/.installed-dev ## all benchmarks into benchmarks/RESULTS.md; ARGS="--only training --add accounting \"--peer ...\""
	$(BIN)/python benchmarks/every.py $(ARGS)

bench-coverage: $(VENV)/.installed-dev ## how often the auditor's bounds exceed the truth (half an hour)
	$(BIN)/python benchmarks/coverage.py

bench-auditors: $(VENV)/.installed-dev ## the auditor beside its peers; PEERS="--peer NAME=PYTHON:CHECKOUT ..."
	$(BIN)/python benchmarks/auditors.py $(PEERS)

bench-training: $(VENV)/.installed-dev ## rounds of clients beside the plain loop; PEERS="--peer flower=PYTHON"
	$(BIN)/python benchmarks/training.py $(PEERS)

bench-accounting: $(VENV)/.installed-dev ## compositions beside peers; PEERS="--peer NAME=PYTHON ..."
	$(BIN)/python benchmarks/accounting.py $(PEERS)

bench-everyday: $(VENV)/.installed-dev ## everyday questions beside three limits; PEERS="--peer dp_accounting=PYTHON"
	$(BIN)/python benchmarks/everyday.py $(PEERS)

bench-implementation: $(VENV)/.installed-dev ## seconds and memory of enumerating 2**24 words
	$(BIN)/python benchmarks/implementation.py

golden: $(VENV)/.installed-dev ## ask the golden questions again and compare; ARGS="--only account --processes 2"
	$(ONE_THREAD) $(BIN)/python benchmarks/golden.py compare $(ARGS)

bench-reading: $(VENV)/.installed-dev ## how many files and functions one call enters; ARGS="--list compose"
	$(BIN)/python benchmarks/reading.py $(ARGS)

lint: $(VENV)/.installed-dev ## ruff (lint and format) and pyright
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright

format: $(VENV)/.installed-dev ## let ruff rewrite what it can
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

docs: $(VENV)/.installed ## write docs/mechanisms.md, its reference and docs/what-ldp-fl-spends.md anew
	$(BIN)/python -m ldp_audit.reports.mechanism_page > docs/mechanisms.md.new
	mv docs/mechanisms.md.new docs/mechanisms.md
	$(BIN)/python -m ldp_audit.reports.mechanism_page reference > docs/reference/mechanisms.md.new
	mv docs/reference/mechanisms.md.new docs/reference/mechanisms.md
	$(BIN)/python benchmarks/rooms.py > docs/assets/rooms.svg.new
	mv docs/assets/rooms.svg.new docs/assets/rooms.svg
	$(BIN)/python -m ldp_audit.accounting.protocols.ldp_fl_page > docs/what-ldp-fl-spends.md.new
	mv docs/what-ldp-fl-spends.md.new docs/what-ldp-fl-spends.md

bench-samplers: $(VENV)/.installed-dev ## samplers beside Generator.random and the peers that are installed
	$(BIN)/python benchmarks/samplers.py

constraints: ## pin every direct and indirect dependency anew, from the ranges in pyproject.toml
	rm -rf build/pins
	$(PYTHON) -m venv build/pins
	build/pins/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	build/pins/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[training,dev]' hatchling
	build/pins/bin/python -m pip freeze --exclude-editable | sed 's/^\(torch==[^+]*\)+.*/\1/' > constraints.txt

fuzz: $(VENV)/.installed-dev ## damaged files for every reader, ten minutes; ARGS="--seconds 3600 --seed 7"
	$(BIN)/python -W error -m tests.fuzz --seconds 600 $(ARGS)

site: $(VENV)/.installed-dev ## build the documentation into site/, warnings being errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

clean: ## remove the environment and what was built
	rm -rf $(VENV) build dist $(OUT) site

$(VENV)/.installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(INSTALL) --editable .
	touch $@

$(VENV)/.installed-dev: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(INSTALL) --editable '.[dev]'
	touch $(VENV)/.installed $@
