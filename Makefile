# Everything works from nothing: the environment is made on first use, and made again when pyproject.toml changes.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --disable-pip-version-check --quiet

# torch is only needed by tests and benchmarks, and its CPU build is enough: it goes first, so that nothing else chooses a build.
TORCH := 2.13.0
# adelie declares numpy<2, yet works with numpy 2: as long as it does, its requirements are in the extra `test` instead.
ADELIE := adelie==1.1.52

ifndef SLIMG_DATA
ifneq ($(wildcard ../shared/data),)
export SLIMG_DATA := $(abspath ../shared/data)
endif
endif

.DEFAULT_GOAL := help
.PHONY: help run check test lint docs bench clean

help:
	@echo "make run    a tour: a graph of Debian packages from files to predictions and a page, beside simple methods"
	@echo "make check  ruff, mypy, docstrings and the quick tests: the loop while you write, under two minutes"
	@echo "make test   lint and all tests"
	@echo "make lint   ruff, mypy and docstrings"
	@echo "make docs   the documentation site, in build/docs"
	@echo "make bench  the recorded benchmarks: accuracy and speed"
	@echo "make clean  remove what these commands made"

run: $(VENV)/.installed
	$(BIN)/python -m examples.debian.run

# Tests marked slow (tests/conftest.py) are left out: those on real graphs, of the laboratory, of processes and of the browser.
check: lint
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder -m "not slow"

# Two workers with one BLAS thread each: as many threads as cores, and a file's tests share what they load. Files are given
# out in the order of tests/conftest.py, the longest first, so that both workers end together.
test: lint browser postgres
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/python tools/check_docstrings.py

# A warning is an error: a name without a page, a heading without a place. So is a link that leads nowhere.
docs: $(VENV)/.installed-docs
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/docs
	$(BIN)/python tools/check_links.py build/docs
	@echo "build/docs/index.html"

bench: $(VENV)/.installed-dev
	$(BIN)/python benchmarks/accuracy.py
	$(BIN)/python benchmarks/speed.py

clean:
	rm -rf $(VENV) build dist out docs/api docs/api.md docs/guides src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests tools examples benchmarks -name __pycache__ -prune -exec rm -rf {} +

$(VENV)/.created:
	@$(PYTHON) -c "import ensurepip, venv" 2>/dev/null || $(MAKE) --no-print-directory python3-venv
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.installed: $(VENV)/.created pyproject.toml
	@echo "Installing slimg into $(VENV): about a minute, once"
	@$(PIP) --editable .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.created pyproject.toml
	@echo "Installing slimg with what tests and benchmarks need into $(VENV): about two minutes, once"
	@$(PIP) torch==$(TORCH)
	@$(PIP) --editable '.[gnn,test,lint]'
	@$(PIP) --no-deps $(ADELIE)
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-docs: $(VENV)/.created pyproject.toml
	@$(PIP) --editable '.[docs]'
	@touch $@ $(VENV)/.installed

# Debian splits this part of Python off; installed only where it is missing.
.PHONY: python3-venv
python3-venv:
	@if [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then \
	  echo "$(PYTHON) lacks the module venv: install it (Debian: apt-get install python3-venv) and call make again"; exit 1; fi
	apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3-venv

# The page is tested in a real browser; installed only where there is none.
.PHONY: browser
browser:
	@command -v chromium chromium-browser google-chrome >/dev/null || { \
	  if [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then \
	    echo "the tests of the page need a browser: install chromium and call make again"; exit 1; fi; \
	  echo "Installing chromium for the tests of the page: half a minute, once"; \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core; }

# Databases are tested with a real server; installed only where there is none.
.PHONY: postgres
postgres:
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || { \
	  if [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then \
	    echo "the tests of databases need a server: install postgresql and call make again"; exit 1; fi; \
	  echo "Installing postgresql for the tests of databases: half a minute, once"; \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql; }
