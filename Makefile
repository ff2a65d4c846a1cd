# Two commands: `make app` starts the app, `make test` runs every test. Both set themselves up in .venv.
# `make check` formats, lints and type-checks; `make bench` measures what we promise.

SHELL := /bin/bash
VENV := .venv
PYTHON := $(VENV)/bin/python
GPU := $(shell nvidia-smi -L 2>/dev/null | grep GPU)
# With an NVIDIA GPU the app also runs kernels; without one it needs neither torch nor triton.
REQUIREMENTS := $(if $(GPU),requirements.txt,requirements-walkthrough.txt)
PYTEST := $(PYTHON) -m pytest -q

.PHONY: app test check bench
.DELETE_ON_ERROR:

app: $(VENV)/installed-$(REQUIREMENTS)
	@$(PYTHON) -m streamlit run app.py $(if $(PORT),--server.port $(PORT)) </dev/null

# Triton reads TRITON_INTERPRET when it is imported, so interpreted and compiled kernels need a process each.
test: $(VENV)/installed-requirements-test.txt
	@$(PYTHON) -m tests.browser.chromium
	@$(PYTEST) --ignore tests/kernels --ignore tests/browser tests
	@TRITON_INTERPRET=1 CUDA_VISIBLE_DEVICES= $(PYTEST) -n auto --dist loadscope -m "not gpu" tests/kernels
	@$(if $(GPU),$(PYTEST) tests/kernels,echo "No NVIDIA GPU here: kernels ran interpreted, not compiled")
	@$(PYTEST) --junitxml $(VENV)/browser-tests.xml tests/browser
	@echo "make test: every test passed"

# In CI (CI=true) nothing is changed: a file that would be formatted is a failure.
check: $(VENV)/installed-requirements-test.txt
	@$(PYTHON) -m ruff format $(if $(CI),--check) .
	@$(PYTHON) -m ruff check .
	@$(PYTHON) -m mypy
	@echo "make check: format, lint and types are right"

# make bench FIGURES="server_start tile_movement_ready"
bench: $(VENV)/installed-requirements-test.txt
	@$(PYTHON) -m tests.bench $(FIGURES)

$(VENV)/installed-%: % requirements-walkthrough.txt requirements-notebook.txt | $(PYTHON)
	@echo "Installing $< into $(VENV), once …"
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@

$(PYTHON):
	@for python in python3.13 python3.12 python3.11 python3 python; do \
	  if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    $$python -m venv $(VENV) && exit 0; \
	    rm -rf $(VENV); echo "$$python could not make $(VENV); on Debian and Ubuntu: apt-get install python3-venv"; exit 1; \
	  fi; \
	done; \
	echo "Python 3.11 or newer is needed, and none was found: $$(python3 --version 2>/dev/null || echo 'no python3')"; exit 1
