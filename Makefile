# Common tasks. `make` alone lists them.

PREFIX ?= /usr/local
DESTDIR ?=

binary := .build/release/transfer
installed = $(DESTDIR)$(PREFIX)/bin/transfer
share = $(DESTDIR)$(PREFIX)/share
pages = $(share)/man/man1
bash = $(share)/bash-completion/completions
zsh = $(share)/zsh/site-functions
fish = $(share)/fish/vendor_completions.d

# The compiler is searched for when it is needed; SWIFT=/path/to/swift names another one.
swift = swift="$$(scripts/swift-path.sh)" && "$$swift"

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help bootstrap build run test test-http test-tsan simulate torture attack fuzz bench bench-micro install install-service uninstall
.PHONY: screenshots deb test-deb mutants simulate-holes proofs
.PHONY: format lint clean

help: ## list these targets
	@echo "usage: make TARGET"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 17

bootstrap: ## check for Swift and the C libraries; install what Debian packages
	@scripts/bootstrap.sh

build: bootstrap ## build the release binary, .build/release/transfer
	$(swift) build -c release --static-swift-stdlib --product transfer

run: build ## start a server, push a picture, a text and a directory to it, also as an old program does, compare
	scripts/run-demo.sh

test: ## run all tests
	@scripts/bootstrap.sh --tests
	scripts/run-tests.sh

# TESTS="test_proxies" runs only these tests.
test-http: build ## try HTTP with clients, proxies and a browser that others wrote; TESTS to choose
	@scripts/bootstrap.sh --http
	scripts/test-http.sh $(TESTS)

# VIEWS="list trash" takes only these.
screenshots: build ## take pictures of each view of the page with Chromium, into .build/screenshots; VIEWS to choose
	TRANSFER_BINARY=$${TRANSFER_BINARY:-$(CURDIR)/$(binary)} PYTHONPATH=Tests python3 -m web.screenshots .build/screenshots $(VIEWS)

test-tsan: bootstrap ## run all tests under the thread sanitizer
	TRANSFER_SUITES_AT_ONCE=1 TRANSFER_ATTACK=light TRANSFER_WIRE_AT_ONCE=3 TRANSFER_WIRE_SESSIONS=$${TRANSFER_WIRE_SESSIONS:-100} scripts/run-tests.sh --sanitize=thread --scratch-path .build/tsan

# ROUNDS (200), SEED and FIRST choose the rounds. Further kinds of rounds have a count and a first number: CUTS (a
# tenth) and FIRST_CUT for power cuts, DELIVERIES (as many) and FIRST_DELIVERY for files sent to people, WEB (as many)
# and FIRST_WEB for HTTP, PAGES (a twentieth) and FIRST_PAGE for the page in Chromium, SYNCS (as many) and FIRST_SYNC for
# syncs of trees, MACHINES (as many) and FIRST_MACHINE for two machines that sync one folder, NEIGHBOURS (a fifth) and
# FIRST_NEIGHBOUR for a user who changes names in the folder, CLUSTERS (a twentieth) and FIRST_CLUSTER for servers of a
# cluster over engines that fail. DIR names the directory (.build/torture); KEEP=1 keeps the directory of a failure.
torture: build ## kill servers and clients in the middle of pushes, check every promise; ROUNDS, SEED, DIR, KEEP
	@scripts/bootstrap.sh --tests
	PYTHONPATH=Tests python3 -m torture $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(SEED),--seed $(SEED)) \
		$(if $(FIRST),--first $(FIRST)) $(if $(CUTS),--cuts $(CUTS)) $(if $(FIRST_CUT),--first-cut $(FIRST_CUT)) \
		$(if $(DELIVERIES),--deliveries $(DELIVERIES)) $(if $(FIRST_DELIVERY),--first-delivery $(FIRST_DELIVERY)) \
		$(if $(WEB),--web $(WEB)) $(if $(FIRST_WEB),--first-web $(FIRST_WEB)) \
		$(if $(PAGES),--pages $(PAGES)) $(if $(FIRST_PAGE),--first-page $(FIRST_PAGE)) \
		$(if $(SYNCS),--syncs $(SYNCS)) $(if $(FIRST_SYNC),--first-sync $(FIRST_SYNC)) \
		$(if $(MACHINES),--machines $(MACHINES)) $(if $(FIRST_MACHINE),--first-machine $(FIRST_MACHINE)) \
		$(if $(NEIGHBOURS),--neighbours $(NEIGHBOURS)) $(if $(FIRST_NEIGHBOUR),--first-neighbour $(FIRST_NEIGHBOUR)) \
		$(if $(CLUSTERS),--clusters $(CLUSTERS)) $(if $(FIRST_CLUSTER),--first-cluster $(FIRST_CLUSTER)) \
		$(if $(DIR),--dir "$(DIR)") $(if $(KEEP),--keep)

# MUTANTS="3 17" runs only these mutants, MUTANTS="1-99" a range, and MUTANTS="TransferStore" those in files with that
# in their paths.
mutants: bootstrap ## put faults into a copy of the sources, run the suites that have to notice; MUTANTS to choose
	PYTHONPATH=Tests python3 -m mutants $(MUTANTS)

# SECONDS (600), the first SEED, and JOBS to run at once (2). Without a seed, every run is different. KEEP_GOING=1
# continues after a failure, does not shorten failing runs to fewer steps, and counts the kinds of failures.
simulate: bootstrap ## simulate the intake on a disk that fails and loses power, and check every promise; SECONDS, SEED, JOBS
	scripts/simulate.sh --seconds $(or $(SECONDS),600) --jobs $(or $(JOBS),2) $(if $(SEED),--seed $(SEED)) \
		$(if $(KEEP_GOING),--keep-going --quick)

# HOLES="22 901" looks only for these holes, SECONDS (60) for each, JOBS (2) at once.
simulate-holes: bootstrap ## put holes into a copy of the sources and let the simulator find each; HOLES, SECONDS, JOBS
	PYTHONPATH=Tests python3 -m mutants.simulation $(HOLES) $(if $(SECONDS),--seconds $(SECONDS)) $(if $(JOBS),--jobs $(JOBS))

# SECONDS (60) for each target; TARGET="frames paths" runs only these targets.
fuzz: bootstrap ## run every fuzz target; SECONDS for each (60), TARGET to choose
	scripts/fuzz.sh $(or $(SECONDS),60) $(TARGET)

# HOURS or SECONDS in which commands may begin (default: until all have ended), ONLY="fuzz:frames simulator", SEED of
# random choices, EACH (seconds of each fuzz target, hole and part of a simulation), JOBS (simulators at once), AGAIN=1
# to repeat valid proofs, BACKGROUND=1, and LIST=1 to list the proofs and their progress.
proofs: bootstrap ## run every long proof, go on where the last run ended, write docs/proofs.md; HOURS, ONLY, BACKGROUND, LIST
	@PYTHONPATH=Tests python3 -m proofs $(if $(HOURS),--hours $(HOURS)) $(if $(SECONDS),--seconds $(SECONDS)) \
		$(if $(ONLY),--only "$(ONLY)") $(if $(SEED),--seed $(SEED)) $(if $(EACH),--each $(EACH)) $(if $(JOBS),--jobs $(JOBS)) \
		$(if $(AGAIN),--again) $(if $(BACKGROUND),--background) $(if $(LIST),--list)

# Attacks the release binary, which users run; the tests themselves are a debug build.
attack: build ## flood the release binary and race symbolic links, in full
	$(swift) build --build-tests
	export TRANSFER_ATTACK=full TRANSFER_BINARY="$(CURDIR)/.build/release/transfer" && \
		$(swift) test --skip-build --no-parallel --filter 'AttackTests|SymlinkRaceTests'

bench: build ## measure beside nc, rsync, scp, nginx and rclone; BENCH="--help" shows its options
	PYTHONPATH=Benchmarks python3 -m bench $(BENCH)

bench-micro: bootstrap ## measure parts, compare allocations with thresholds; UPDATE=1 sets them
	$(swift) build -c release --static-swift-stdlib --product MicroBenchmarks
	scripts/run-micro-benchmarks.sh $(if $(UPDATE),--update)

# Builds only if there is no binary, so that `sudo make install` after `make build` compiles nothing as root. The binary
# itself generates its manual pages and completions.
install: | $(binary) ## install to PREFIX (/usr/local) below DESTDIR, with manual pages and completions
	install -D -m 0755 $(binary) "$(installed)"
	install -d "$(pages)" "$(bash)" "$(zsh)" "$(fish)"
	umask 022; set -e; \
	for page in $$($(binary) man --names); do $(binary) man "$$page" > "$(pages)/$$page.1"; done; \
	$(binary) completions bash > "$(bash)/transfer"; \
	$(binary) completions zsh > "$(zsh)/_transfer"; \
	$(binary) completions fish > "$(fish)/transfer.fish"

$(binary):
	@$(MAKE) build

units = $(DESTDIR)$(PREFIX)/lib/systemd/system
users = $(DESTDIR)$(PREFIX)/lib/sysusers.d
settings = $(DESTDIR)/etc/transfer/config.toml

install-service: install ## install a systemd unit and the user that it runs as too
	install -D -m 0644 packaging/transfer.sysusers "$(users)/transfer.conf"
	install -D -m 0644 packaging/transfer.service "$(units)/transfer.service"
	install -D -m 0644 packaging/transfer.socket "$(units)/transfer.socket"
	if [ ! -e "$(settings)" ]; then install -D -m 0644 packaging/config.toml "$(settings)"; fi
	sed -i 's|=/usr/local/bin/|=$(PREFIX)/bin/|' "$(units)/transfer.service"

# A configuration file with changes stays.
uninstall: ## remove what install and install-service put there, but for a configuration that was changed
	if [ -x "$(installed)" ]; then \
		for page in $$("$(installed)" man --names); do rm -f "$(pages)/$$page.1"; done; \
	fi
	rm -f "$(bash)/transfer" "$(zsh)/_transfer" "$(fish)/transfer.fish"
	rm -f "$(installed)" "$(units)/transfer.service" "$(units)/transfer.socket" "$(users)/transfer.conf"
	if cmp -s packaging/config.toml "$(settings)"; then rm -f "$(settings)"; fi

# Two runs with one binary give equal files. SOURCE_DATE_EPOCH is the modification time of everything in the package.
deb: build ## make a Debian package, .build/transfer_VERSION_ARCHITECTURE.deb
	scripts/make-deb.sh $(binary) ".build/transfer_$$(scripts/version.sh)_$$(dpkg --print-architecture).deb"

test-deb: deb ## install the package beside this system, use it, purge it
	scripts/test-deb.sh $(binary)

format: ## format the Swift sources in place
	$(swift) format --in-place --parallel --recursive Sources Tests Benchmarks Fuzz Package.swift

lint: ## check format, keys, traps, imports and English of the sources, that mutants fit them, how old proofs are, the scripts of the page, and others by shellcheck
	$(swift) format lint --strict --parallel --recursive Sources Tests Benchmarks Fuzz Package.swift
	scripts/lint-text-keys.sh
	scripts/lint-tests.sh
	scripts/lint-source-paths.sh
	scripts/lint-imports.sh
	scripts/test-check-traps.sh
	scripts/check-traps.sh Sources/Transfer*
	scripts/lint-words.py
	python3 -m unittest discover -q -s Tests/mutants/tests -t Tests
	PYTHONPATH=Tests python3 -m proofs --check
	scripts/lint-page.sh
	@if command -v shellcheck >/dev/null; then \
		echo "shellcheck scripts/*.sh scripts/engines/*.sh .ci/run packaging/deb/p*"; shellcheck scripts/*.sh scripts/engines/*.sh .ci/run packaging/deb/p*; \
	else \
		echo "shellcheck is not there; the scripts were not checked."; \
	fi

clean: ## remove everything that was built
	rm -rf .build
