# The two commands of the README are `make run` and `make test`; each sets up what it needs.
VENV ?= .venv
BIN := $(VENV)/bin
PYTHON ?= python3
# What running needs, and what tests need beside it.
READY := $(VENV)/.ready-run
READY_TEST := $(VENV)/.ready-test
# What `make nodes` runs, and where.
ROWS ?= RAIL GW WH
CHAINS ?= localnet,algorand=sim
# What the command line says of rows, where nothing means every row.
ROWS_OR_ALL := $(if $(filter command line environment,$(origin ROWS)),$(ROWS))
# A file stays together: its tests share a stack. Files are taken in the order of tests/conftest.py, by forks of the
# process that collected them. Six workers use what two leave of two processors while they wait.
UNIT := $(BIN)/python -m pytest --workers 6

# Dozens of processes start, and each compiles what is kept nowhere.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: requirements record run test test-all lint types docs unit programs wheel-test nodes selftest assertions lines chameleon steady oracle thousand two-workers fuzz simulate load chaos mutants requests-parsed clean

run: $(READY)
	$(BIN)/weldproof run --reference --report html --report json --report junit --report-dir report

# Types are checked beside the tests, by the processor that these leave while they wait; what was found is told at the end.
test: lint programs
	@$(BIN)/mypy >$(VENV)/.types 2>&1 & types=$$!; \
	$(UNIT); unit=$$?; \
	wait $$types; types=$$?; cat $(VENV)/.types; exit $$((unit || types))

# What `make test` leaves out because it is slow by nature (docs/slow-tests.md); PART=2/4 runs a part.
test-all: $(if $(PART),programs,test)
	$(UNIT) -m slow $(if $(PART),--part $(PART))

lint: $(READY_TEST)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY_TEST)
	$(BIN)/mypy

# The documents as a site, in build/site; a dead link fails it. Building fetches nothing.
docs: $(READY_TEST)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

# What tests install at first use, telling what there is.
programs: $(READY_TEST)
	$(BIN)/python -m tests.prefetch

unit: programs
	$(UNIT)

# The rows of rail, gateway and webhooks on real nodes that start here: Anvil and surfpool, from npm if they are not on the
# PATH. Algorand is simulated unless CHAINS=localnet; then ALGOD_URL or algod on the PATH is needed (docs/real-nodes.md).
nodes: $(READY)
	$(BIN)/weldproof run $(ROWS) --reference --chains $(CHAINS) --report json --report-dir report-nodes

# The wheel in clean environments, with each extra; WRITE=1 puts their sizes into docs/installing.md.
wheel-test: $(READY_TEST)
	$(BIN)/python -m tests.wheel.try_wheel $(if $(WRITE),--write)

# Every mutant against its kill list; SHARD=1/4 runs a part.
selftest: $(READY)
	$(BIN)/weldproof selftest $(if $(SHARD),--shard $(SHARD))

# Each place where a check judges, turned round on the clean reference: its rows must turn red; SHARD=1/4 does some rounds.
assertions: $(READY)
	$(BIN)/python -m tools.assertions $(if $(SHARD),--shard $(SHARD))

# Whole runs again and again: quiet, beside busy loops, beside stalls, with 2 and with 8 workers; RUNS=100 makes a hundred.
steady: $(READY)
	$(BIN)/python -m tools.steady --runs $(or $(RUNS),5) --first-seed $(or $(SEED),1) --folder report-steady

# 1,000 random groups against the go-algorand evaluator, and 1,000 range proofs with 10,000 altered ones between the
# reference and the suite's own arithmetic; a part of each rotates in `make test`.
oracle: $(READY_TEST)
	$(BIN)/python -m pytest -m oracle_long -v -s tests/sim/algorand tests/conformance/oracles/range_proof

# 1,000 payments on four workers that are killed again and again; a small version is in `make test`.
thousand: $(READY_TEST)
	$(BIN)/python -m pytest -m thousand tests/reference/rail

# A hundred fuzzed minutes against the gateway, no 5xx; FUZZ_SECONDS=600 makes it ten. A short one is in `make test`.
fuzz: $(READY_TEST)
	WELDPROOF_FUZZ_SECONDS=$(or $(FUZZ_SECONDS),6000) $(BIN)/python -m pytest -m fuzz -s --timeout 0 tests/conformance/fuzz

# Worlds from seeds: rail, gateway, chains and payers in one process, on a virtual clock that runs for days in seconds.
# JOBS=2 shares WORLDS between two processes; LOG=worlds.ndjson gets a line a world, and worlds that are in it are left out.
simulate: $(READY_TEST)
	$(BIN)/python -m tests.simulation --seed $(or $(SEED),1) --operations $(or $(OPERATIONS),300) $(if $(WORLDS),--worlds $(WORLDS)) \
	  $(if $(CROWD),--crowd $(CROWD)) $(if $(SECONDS),--seconds $(SECONDS)) $(if $(JOBS),--jobs $(JOBS)) $(if $(LOG),--log $(LOG))

# Throughput, p50 and p99 of one and two workers on SQLite and PostgreSQL, by wrk (docs/scale.md).
load: $(READY_TEST)
	$(BIN)/python -m tests.load $(if $(SECONDS),--seconds $(SECONDS)) $(if $(CONNECTIONS),--connections $(CONNECTIONS))

# Two workers of a rail behind nginx on PostgreSQL, which are killed and stopped while the database and the nodes fail; what
# payers got is judged from the chains and the receipts. SECONDS=60 SEED=1 unless set; RATE=2 purchases a second.
chaos: $(READY_TEST)
	$(BIN)/python -m tests.chaos --seconds $(or $(SECONDS),60) --seed $(or $(SEED),1) --rate $(or $(RATE),2)

# Mutants of one kind: KIND=tests (default: a copy of the product is changed, and the tests must notice), named, generated or
# second. ONLY='rail-*' chooses ids, SHARD=1/4 a part.
mutants: $(READY_TEST)
	$(BIN)/python -m tools.mutants $(or $(KIND),tests) $(if $(ONLY),'$(ONLY)') $(if $(SHARD),--shard $(SHARD))

# Every request of a whole run, taken from the sockets and parsed back by other parsers: it holds the faults that
# tools/requests_parsed/sends.json says of its check, and no other.
requests-parsed: $(READY_TEST)
	$(BIN)/python -m tools.requests_parsed.capture build/requests.ndjson.gz run --reference --seed $(or $(SEED),7) --report json --report-dir build/requests
	$(BIN)/python -m tools.requests_parsed build/requests.ndjson.gz

# What the reports of the named mutants print, run again: curl lines and replays; SHARD=1/8 runs a part.
lines: $(READY_TEST)
	$(BIN)/python -m tests.conformance.report.lines_of_mutants $(if $(SHARD),--shard $(SHARD))

# The suite against two workers of each service, on PostgreSQL and Valkey: ROWS="RAIL GW" chooses rows, NGINX=1 puts nginx
# in front of the workers.
two-workers: $(READY_TEST)
	$(BIN)/python -m tests.two_workers $(ROWS_OR_ALL) $(if $(NGINX),--nginx)

# The suite against a correct server that takes each open point another way; SEEDS=8 for eight of them.
chameleon: $(READY_TEST)
	$(BIN)/weldproof selftest --chameleon --seeds $(or $(SEEDS),8)

# The locked versions, by uv, which is got where it is not there.
$(READY) $(READY_TEST): $(VENV)/.ready-%: pyproject.toml uv.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "needs Python 3.11 or newer; name one: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -m programs.checkout $* $(VENV)

# The locked versions with their hashes, for pip: what docs/installing.md and the action install.
requirements: $(READY_TEST)
	$(BIN)/uv export --frozen --extra all --group build --no-emit-project --no-header --no-annotate --format requirements-txt --output-file requirements/all.txt >/dev/null

# What only a run can show: which check reaches which line, what was killed, typical durations, examples. Hours; ONLY=typical
# records a part (tools/record.py lists them).
record: $(READY_TEST)
	$(BIN)/python -m tools.record $(ONLY)

clean:
	rm -rf $(VENV) build dist report data *.egg-info
