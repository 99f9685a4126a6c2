# Every target sets up what it needs: a virtual environment in .venv with the versions of constraints.txt.
PYTHON ?= python3
N ?= 20000
SEED ?= 1
MINUTES ?= 30
WORKERS ?= 2
# Tests that ask a real control plane mostly wait for it.
E2E_WORKERS ?= 4
EXPLORE := $(or $(EXPLORE),$(shell date +%s))
ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
RESULTS := build/requirements.json
SOURCES := $(wildcard src tests bench tools docs/site)

.DEFAULT_GOAL := help
.PHONY: help setup constraints sbom demo test test-slow test-long storm storm-real failover check format oracle policy-model injection hostile planted slices fuzz reword peers peer-tests bench bench-half-full bench-kube bench-e2e bench-side-by-side bench-live bench-tenants bench-simulate bench-grove bench-kueue bench-map bench-readers rules browser docs deploy e2e e2e-kueue e2e-published requirements cluster clean screenshots

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(READY) ## make .venv and install closeknit into it (the other targets do so themselves)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "Closeknit needs Python 3.11 or newer as $(PYTHON). Name another one: make PYTHON=python3.11" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
		echo "$(PYTHON) cannot make a virtual environment. On Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	$(BIN)/python -m pip install --quiet --require-hashes --requirement constraints.txt
	$(BIN)/python -m pip install --quiet --no-index --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m pip check --quiet
	@touch $@

constraints: ## write the hashes of the versions in constraints.txt, and the lists for the image
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m tools.constraints

sbom: $(READY) ## write what is installed with closeknit[claims] into build/sbom.json, as CycloneDX
	@mkdir -p build
	$(BIN)/python -m closeknit.installation.sbom build/sbom.json

demo: $(READY) ## run one workload of each dialect on an embedded control plane, and tell what happens
	@$(BIN)/closeknit demo --live $(ARGS)

test: $(READY) ## run the tests, without the slow ones (ARGS="-k words" to choose)
	@mkdir -p build && rm -f $(RESULTS)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not slow and not long and not e2e and not browser" --requirements=$(RESULTS) $(ARGS)

test-slow: $(READY) ## run the slow tests, and explore: draw new examples from a seed (EXPLORE=1 to choose it)
	# Status 5 says that nothing was collected, which is no failure here.
	@mkdir -p build
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "slow and not long and not e2e" --requirements=$(RESULTS) $(ARGS) || test $$? -eq 5
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "hypothesis and not slow and not long and not e2e" --hypothesis-profile=explore \
		--hypothesis-seed=$(EXPLORE) $(ARGS) || test $$? -eq 5

test-long: $(READY) ## run what takes many minutes: every fault at every write of every operator, large comparisons, ten times the examples
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "long" -rP $(ARGS) || test $$? -eq 5
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "hypothesis and not slow and not e2e" --hypothesis-profile=thorough \
		--hypothesis-seed=$(EXPLORE) $(ARGS) || test $$? -eq 5

storm: $(READY) ## let it storm over an embedded cluster for MINUTES of its own time (MINUTES=30 SEED=1)
	STORM_MINUTES=$(MINUTES) STORM_SEED=$(SEED) \
		$(BIN)/python -m pytest -n $(WORKERS) -rP -m "slow and not e2e" tests/scenario/test_storm.py $(ARGS)

storm-real: MINUTES = 5
storm-real: $(READY) ## the same over a real API server, for MINUTES of real time (MINUTES=5 SEED=1)
	STORM_REAL_MINUTES=$(MINUTES) STORM_SEED=$(SEED) \
		$(BIN)/python -m pytest -n $(WORKERS) -rP -m "slow and e2e" tests/scenario/test_storm.py $(ARGS)

failover: N = 100
failover: $(READY) ## stop the leader of two schedulers at N moments of a storm, kill it, end it (N=100 SEED=1)
	$(BIN)/python -m tests.trials.failover_run -n $(N) --seed $(SEED) $(ARGS)

check: $(READY) ## lint, formatting, types and import rules
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/mypy $(SOURCES)
	$(BIN)/lint-imports

format: $(READY) ## format the code and fix what ruff can fix
	$(BIN)/ruff format $(SOURCES)
	$(BIN)/ruff check --fix $(SOURCES)

oracle: $(READY) ## compare the engine with the exact oracle on N random requests (N=20000 SEED=1)
	$(BIN)/python -m tests.trials.oracle_run -n $(N) --seed $(SEED) $(ARGS)

injection: $(READY) ## let each function of the per-object path fail for one object (ARGS="--sample 300 --seed 1" for some)
	$(BIN)/python -m tests.trials.injection_run $(ARGS)

hostile: $(READY) ## hostile objects of a tenant while gangs of another arrive (ARGS="--hostile 1000 --gangs 100")
	$(BIN)/python -m tests.trials.hostile_run $(ARGS)

policy-model: N = 10000
policy-model: $(READY) ## compare the live core with the policy model on N random sequences (N=10000 SEED=1)
	$(BIN)/python -m tests.policy.run -n $(N) --seed $(SEED) $(ARGS)

planted: N = 500
planted: $(READY) ## the same on N larger requests that are placeable by construction (N=500 SEED=1)
	$(BIN)/python -m tests.trials.oracle_run --planted -n $(N) --seed $(SEED) --processes $(WORKERS) $(ARGS)

slices: N = 1000
slices: $(READY) ## decide N random requests of slices of slices on 64 to 1,024 nodes (N=1000 SEED=1)
	$(BIN)/python -m tests.trials.slices_run -n $(N) --seed $(SEED) --processes 1 $(ARGS)

fuzz: $(READY) ## read, translate and plan N damaged manifests (N=50000 SEED=1)
	$(BIN)/python -m tests.trials.fuzz_run -n $(N) --seed $(SEED) --processes $(WORKERS) $(ARGS)

reword: $(READY) ## append a word to every message in a copy, and list the tests that depend on wording
	$(BIN)/python -m tests.trials.reword_run --workers $(WORKERS) $(ARGS)

peers: $(READY) ## validate and translate manifests of other projects (ARGS=FOLDER, with a checkout of each)
	$(BIN)/python -m tests.trials.peers_run $(ARGS)

peer-tests: $(READY) ## compare with other schedulers' test tables and write the page of the docs (RECORD=1 records changed outcomes for review)
	$(BIN)/python -m tests.peers.recording $(if $(RECORD),--record) $(ARGS)

bench: $(READY) ## measure the engine on 1,000 to 100,000 nodes
	$(BIN)/python -m bench $(ARGS)

bench-half-full: $(READY) ## compare the GPUs that gangs get on half-full racks with those of a greedy pass
	$(BIN)/python -m bench.half_full $(ARGS)

bench-kube: $(READY) ## measure the ways to a Kubernetes API, real and embedded
	$(BIN)/python -m bench.kube $(ARGS)

browser: $(READY) ## run the tests that open the map in a browser (needs chromium)
	$(BIN)/python -m pytest -n $(WORKERS) -m "browser" tests/browser $(ARGS)

screenshots: $(READY) ## take the pictures of the map in docs/images anew (needs chromium)
	CLOSEKNIT_SCREENSHOTS=docs/images $(BIN)/python -m pytest -m "browser" tests/browser/test_screenshots.py $(ARGS)

bench-map: $(READY) ## measure the live map in a browser, at 100,000 nodes
	$(BIN)/python -m bench.map $(ARGS)

bench-readers: $(READY) ## measure the scheduler while 200 browsers look at its map
	$(BIN)/python -m bench.map_readers $(ARGS)

e2e: $(READY) ## run the tests that ask a real Kubernetes control plane (built with Go at the first time)
	@command -v go >/dev/null || echo "There is no go on the PATH: unless the programs are in the cache, every test is skipped." >&2
	-@$(BIN)/python -m closeknit.testing.control_plane --build-only --with-jobset
	@mkdir -p build
	$(BIN)/python -m pytest -n $(E2E_WORKERS) --dist worksteal -m "e2e and not long and not kueue" --requirements=$(RESULTS) \
		tests/conformance tests/e2e tests/scenario $(ARGS)
	@echo "Left out: tests beside Kueue itself, which takes many minutes to build. Run them with make e2e-kueue."

e2e-kueue: $(READY) ## run the tests that ask Kueue itself on a real control plane (KUEUE_RECORD=1 records what it says)
	-@$(BIN)/python -m closeknit.testing.control_plane --build-only --with-kueue
	$(BIN)/python -m pytest -m "kueue" tests/scenario/test_kueue_itself.py $(ARGS)

e2e-published: $(READY) ## the scenarios of e2e with the definitions that KAI, Grove, Kueue and JobSet publish (../shared/crds)
	PUBLISHED=1 $(BIN)/python -m pytest -n $(E2E_WORKERS) --dist worksteal -m "e2e and not long and not kueue" tests/scenario $(ARGS)

requirements: $(READY) ## make the page of the docs that lists requirements, from what the last test, test-slow and e2e found
	@test -f $(RESULTS) || { echo "No results are at hand: run make test test-slow e2e before." >&2; exit 1; }
	$(BIN)/python -m tests.requirements $(RESULTS) ../shared/requirements.md > build/requirements.md
	mv build/requirements.md docs/reference/requirements.md

docs: $(READY) ## build the documentation as a site in build/docs/site, without network
	$(BIN)/python -m docs.site build/docs
	$(BIN)/zensical build --strict --config-file build/docs/mkdocs.yml

deploy: $(READY) ## write what follows from the code into deploy/chart, and plain manifests from the chart
	rm -rf deploy/chart/generated
	$(BIN)/python -m closeknit.installation deploy/chart docs/reference/privileges.md
	$(BIN)/python -m closeknit.testing.rendered deploy

cluster: $(READY) ## run a real Kubernetes control plane until Ctrl-C (built with Go at the first time)
	@$(BIN)/python -m closeknit.testing.control_plane $(ARGS)

bench-e2e: $(READY) ## measure the scheduler on a real API server (ARGS="throughput" for a part)
	$(BIN)/python -m bench.e2e $(ARGS)

bench-side-by-side: $(READY) ## measure the scheduler beside kube-scheduler on one real API server
	$(BIN)/python -m bench.e2e.side_by_side $(ARGS)

bench-grove: $(READY) ## measure Grove's operator: 200 PodCliqueSets of 50 pods from submit to running
	$(BIN)/python -m bench.grove_operator $(ARGS)

bench-kueue: $(READY) ## measure how fast Jobs are admitted, embedded and beside Kueue (ARGS="--part embedded" for a part)
	$(BIN)/python -m bench.e2e.kueue $(ARGS)

bench-tenants: $(READY) ## measure how long a gang waits while another tenant's units take long to decide
	$(BIN)/python -m bench.tenants --hard 3 $(ARGS)
	$(BIN)/python -m bench.tenants --hard 0 --many 10000 $(ARGS)

bench-simulate: $(READY) ## time a simulation of 10,000 gangs on 1,024 nodes under all policies
	bash -c 'time -p $(BIN)/closeknit simulate --generate 10000 --nodes block=8,rack=8,host=16 --into build/simulation $(ARGS)'

bench-live: $(READY) ## measure whether the scheduler keeps up on 10,000 nodes, in virtual time
	$(BIN)/python -m bench.live $(ARGS)

rules: $(READY) ## count the steps that each rule of the search saves
	$(BIN)/python -m bench.search_rules

clean: ## remove everything that the other targets made
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
