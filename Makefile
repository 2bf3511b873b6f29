# kafkaspec: every target works on a fresh clone; `make help` lists them.
VENV ?= .venv
BIN := $(VENV)/bin
LOGS ?= tests/golden

# Without bytecode, each process of the tests would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help run quick test test-kafka avro-judge compatibility check wheels check-release lock release-notes generate format bench bench-spark bench-growth fuzz sanitize conformance golden docs explorer explorer-check explorer-screenshots clean

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' Makefile

run:  ## Set up and verify segments of real Kafka (LOGS=/path/to/kafka-logs: your own)
	@tools/setup/venv.sh $(VENV) construct
	@$(BIN)/kafkaspec --version
	@$(BIN)/kafkaspec verify --codec all $(if $(filter tests/golden,$(LOGS)),tests/golden/*/logs,$(LOGS))

quick:  ## Before each commit, in under a minute: ruff, mypy, quick tests; no Java (TESTS=tests/log)
	@tools/setup/venv.sh $(VENV) construct,test
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/python tools/codegen.py --check-hash
	@$(BIN)/mypy & types=$$!; \
	  $(BIN)/python -m pytest --quick -n 2 $(TESTS); tests=$$?; \
	  wait $$types && exit $$tests

test:  ## Set up and run all tests
	@tools/setup/headers.sh
	@tools/setup/venv.sh $(VENV) construct,test
	@tools/setup/java.sh
	@tools/setup/chromium.sh
	@$(BIN)/python -m pytest -n 2

test-kafka:  ## Kafka itself as the judge: readers and brokers (Java, Maven; VERSIONS="2.8.2 4.3.1" SAMPLE=8)
	@tools/setup/venv.sh $(VENV) construct,test
	@KAFKA_VERSIONS="$(VERSIONS)" KAFKA_SAMPLE="$(SAMPLE)" RECORD="$(RECORD)" $(BIN)/python -m pytest -m kafka tests/kafka

.PHONY: restore-all
restore-all:  ## Start a broker on what is restored from the golden logs of all releases (VERSIONS="3.9.2 4.4.0")
	@tools/setup/venv.sh $(VENV) construct,test
	@newest=$$($(BIN)/python -c 'from tools.brokers.versions import VERSIONS; print(VERSIONS[-1].name)'); \
	  KAFKA_VERSIONS="$(or $(VERSIONS),$$newest)" KAFKA_SAMPLE=1 $(BIN)/python -m pytest -m kafka -rP \
	  tests/kafka/test_restore.py

avro-judge:  ## Apache Avro for Java reads values of random schemas as we do, by theirs and by others (SCHEMAS=1000)
	@tools/setup/venv.sh $(VENV) construct,test
	@AVRO_SCHEMAS="$(or $(SCHEMAS),1000)" $(BIN)/python -m pytest tests/values/avro/test_java.py

.PHONY: kafka kafka-changes
kafka:  ## Take in a release of Kafka: messages, changes, brokers, judges, pages, and a report (VERSION=4.4.0 SCHEMAS=checkout)
	@tools/setup/venv.sh $(VENV) construct,test
	@$(BIN)/python -m tools.kafka.release $(VERSION) $(if $(SCHEMAS),--schemas $(SCHEMAS)) $(OPTIONS)

kafka-changes:  ## Read what a release changed from its jars again (VERSION=4.4.0)
	@tools/setup/venv.sh $(VENV) construct,test
	@$(BIN)/python -m tools.kafka.changes $(VERSION)

compatibility:  ## Make the pages about Kafka's versions and quirks again, compare messages with all releases
	@tools/setup/venv.sh $(VENV) construct,test
	@$(BIN)/python -m tools.import_messages --check --all
	@$(BIN)/python -m tools.kafka.pages

check:  ## Formatting, lint, types, English, and generated code against the specification
	@tools/setup/venv.sh $(VENV) construct,test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python tools/codegen.py --check
	$(BIN)/python -m tools.names --check
	$(BIN)/python -m tools.outputs --check
	$(BIN)/python -m tools.document --check
	$(BIN)/python -m tools.specdiff --check
	$(BIN)/python -m tools.english

.PHONY: drafts
drafts:  ## Apply each draft of spec/drafts to a copy, and try all that is public on it
	@tools/setup/venv.sh $(VENV) construct,test
	@NIGHTLY=true $(BIN)/python -m pytest -n 2 tests/specgen/test_drafts.py

.PHONY: spec-diff
spec-diff:  ## What changed in the specification, whom it breaks, and bytes that show it (A=0.2.0 B=folder)
	@tools/setup/venv.sh $(VENV) construct,test
	@$(BIN)/python -m tools.specdiff $(A) $(B)

wheels:  ## Build the sdist and a wheel in dist/ twice, judge and try them (Linux; OPTIONS=--bare: in a bare Debian)
	@tools/setup/venv.sh $(VENV)-release release
	@$(VENV)-release/bin/python -m tools.release $(OPTIONS)

.PHONY: binary
binary:  ## One file in dist/ with Python and all that the command needs, judged (Linux; OPTIONS=--bare: in a bare Debian)
	@tools/setup/venv.sh $(VENV)-binary binary
	@$(VENV)-binary/bin/python -m tools.release.binary $(OPTIONS)

.PHONY: check-platforms
check-platforms:  ## Types as mypy sees them on Windows and macOS
	@tools/setup/venv.sh $(VENV) construct,test
	@for platform in win32 darwin; do \
	  $(BIN)/mypy --platform $$platform kafkaspec pyspark_kafkasegment || exit 1; done

.PHONY: check-release
check-release:  ## Judge workflows, forms, scripts, the container file and packages (actionlint by Go)
	@tools/setup/venv.sh $(VENV)-release release
	@$(VENV)-release/bin/python -m tools.release.lint

lock:  ## Lock the newest versions that pyproject.toml allows in requirements/ (needs uv)
	@tools/setup/lock.sh

release-notes:  ## Show what the next release will say of its changes
	@tools/setup/venv.sh $(VENV)-release release
	@$(VENV)-release/bin/towncrier build --draft --version next

generate:  ## Make generated/ from spec/ (needs Java and Maven for the Kaitai classes, npm for the explorer)
	@tools/setup/venv.sh $(VENV) construct,test
	$(BIN)/python tools/codegen.py
	$(BIN)/python -m tools.names
	$(BIN)/python -m tools.api
	$(BIN)/python -m tools.options
	$(BIN)/python -m tools.outputs
	$(BIN)/python -m tools.document
	@if command -v npm >/dev/null; then $(BIN)/python -m tools.explorer.build; \
	  else echo "The explorer is not built again: that needs npm; then, make explorer"; fi

format:  ## Format the code
	@tools/setup/venv.sh $(VENV) construct,test
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench:  ## Compare with other readers, all in one run (OPTIONS='--quick', '--only CASE', '--write')
	@tools/setup/headers.sh
	@tools/setup/venv.sh $(VENV) construct,test
	@tools/setup/java.sh
	@tools/setup/chromium.sh
	$(BIN)/python -m benchmarks $(OPTIONS)

bench-spark:  ## Compare the data source with Spark's Parquet and Kafka sources (OPTIONS='--quick', '--write')
	@tools/setup/venv.sh $(VENV) construct,test
	$(BIN)/python -m benchmarks.spark $(OPTIONS)

bench-growth:  ## Measure how time and memory of each command grow (OPTIONS='--quick', '--only COMMAND', '--write')
	@tools/setup/venv.sh $(VENV) construct,test
	$(BIN)/python -m benchmarks.growth $(OPTIONS)

.PHONY: proof
proof:  ## Prove bounds of the C core (Frama-C, ESBMC), refuse planted faults, check docs/proof.md (OPTIONS=--write)
	@tools/setup/venv.sh $(VENV) construct,test
	@tools/setup/frama-c.sh
	@tools/setup/esbmc.sh $(VENV)
	@$(BIN)/python -m tools.native.prove $(OPTIONS)
	@$(BIN)/python -m tools.native.bounded

.PHONY: gallery
gallery:  ## What Kaitai's format gallery takes: one specification of segments, and samples, in dist/gallery
	@tools/setup/venv.sh $(VENV) construct,test
	@$(BIN)/python -m tools.gallery

.PHONY: c
c:  ## The reader in C as two files that need no Python, in dist/c
	@tools/setup/venv.sh $(VENV) construct,test
	@$(BIN)/python -m tools.native.single

.PHONY: duckdb
duckdb:  ## The table function read_kafka as an extension of DuckDB, in dist/duckdb (cargo; or HEADERS=FOLDER)
	@tools/setup/venv.sh $(VENV) construct,test
	@$(BIN)/python -m tools.native.duckdb dist/duckdb $(HEADERS)

.PHONY: rust
rust:  ## The reader in Rust as a crate, in dist/rust
	@tools/setup/venv.sh $(VENV) construct,test
	@$(BIN)/python -m tools.readers.rust

.PHONY: go
go:  ## The reader in Go as a module that needs no Python, in dist/go
	@tools/setup/venv.sh $(VENV) construct,test
	@$(BIN)/python -m tools.readers.go

fuzz:  ## Fuzz the native core with sanitizers (SECONDS=600; needs clang with libFuzzer)
	@tools/setup/venv.sh $(VENV) construct,test
	$(BIN)/python -m tools.native.fuzz.run --seconds $(or $(SECONDS),600)

sanitize:  ## Run tests on a build with address and undefined-behaviour sanitizers (ALL=1: all; SANITIZER=thread)
	@tools/setup/venv.sh $(VENV) construct,test
	$(BIN)/python -m tools.native.sanitize $(if $(filter thread,$(SANITIZER)),--thread,$(if $(ALL),tests))

conformance:  ## Run the conformance kit on our codecs, clients, Java and JavaScript; write the page (OPTIONS='--all --check')
	@tools/setup/venv.sh $(VENV) construct,test
	$(BIN)/python -m tools.conformance $(OPTIONS)

.PHONY: generate-cases
generate-cases:  ## Cases that cover the specification, put to our codecs, and what they cover (COUNT=1000 SEED=7)
	@tools/setup/venv.sh $(VENV) construct,test
	@rm -rf build/cases && mkdir -p build
	@$(BIN)/kafkaspec generate build/cases --count $(or $(COUNT),0) --seed $(or $(SEED),0)
	@for codec in native python; do \
	  $(BIN)/kafkaspec conform --codec $$codec --cases build/cases || exit 1; done

.PHONY: core-coverage
core-coverage:  ## Branches of the native core that are taken, 95 % or more (gcc, gcov; OPTIONS=--list: all others)
	@tools/setup/venv.sh $(VENV) construct,test
	@$(BIN)/python -m tools.native.coverage $(OPTIONS)

golden:  ## Make the golden segments again with real brokers (Java, Maven, minutes)
	@tools/setup/venv.sh $(VENV) construct,test
	$(BIN)/python -m tools.golden make

docs:  ## Build the site of the documentation in build/site, and check its links (needs npm; OPTIONS=--external)
	@tools/setup/venv.sh $(VENV) docs
	@$(BIN)/python -m tools.site $(OPTIONS)

explorer:  ## Build the explorer, one HTML file: generated/explorer/explorer.html (Java, Maven, Node.js, npm)
	@tools/setup/venv.sh $(VENV) construct,test
	@$(BIN)/python -m tools.explorer.build --check

explorer-check:  ## Compare the explorer with dump and verify on every golden segment, minutes (VERSIONS="4.4.0")
	@tools/setup/venv.sh $(VENV) construct,test
	@EXPLORER_VERSIONS="$(or $(VERSIONS),all)" $(BIN)/python -m pytest tests/explorer

explorer-screenshots:  ## Take pictures of the explorer in build/explorer/screenshots (Chromium)
	@tools/setup/venv.sh $(VENV) construct,test
	@tools/setup/chromium.sh
	@$(BIN)/python -m tests.explorer.screenshots build/explorer/screenshots

clean:  ## Remove the virtual environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis build *.egg-info
