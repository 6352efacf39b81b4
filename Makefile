# Targets for people and for CI. `make` lists them.

# What `make test` needs besides Go: gcc and libc6-dev are for the race detector.
PACKAGES := postgresql pgbouncer python3 nodejs gcc libc6-dev

# Packages whose tests run under the race detector, which makes them several
# times slower: those with goroutines of their own. The pure ones, and what
# starts whole processes, run without; the simulation runs both ways, 20 seeds
# with it and 100 without.
PURE := builtin config decide definition expr history schedule trial wire
RACE = $(filter-out $(addsuffix /shared,$(MODULE)) $(PURE:%=$(MODULE)/shared/%),$(shell go list ./shared/...))
PLAIN = $(filter-out $(RACE),$(shell go list ./...)) $(MODULE)/shared/sim
MODULE = github.com/orrery-dev/orrery

# go vet runs once, over everything, and symbols for debuggers are left out.
TESTFLAGS = -timeout $(TIMEOUT) -vet off -ldflags=-w

# Longest run of one package's tests, and time per fuzz target.
TIMEOUT := 10m
FUZZTIME := 5s

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

.PHONY: help demo test soak sim verify bench dev

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1	\2/p' $(MAKEFILE_LIST)

demo: ## 200 orders through the whole system, with a node killed on the way (RIE=1: functions under the emulator, KEEP=1: go on serving)
	@bash local/setup.sh postgresql python3
	@go run ./local/demo $(if $(RIE),-rie) $(if $(KEEP),-keep)

test: ## all tests, and 5 s of each fuzz target
	@bash local/setup.sh $(PACKAGES)
	go vet ./...
	go test $(TESTFLAGS) -race $(RACE)
	go test $(TESTFLAGS) $(PLAIN)
	go test -count 1 -v -run TestRecordings ./local/conformance
	bash local/fuzz.sh $(FUZZTIME)

soak: export ORRERY_SOAK := 1
soak: TIMEOUT := 0
soak: FUZZTIME := 10m
soak: test ## the long forms of the tests, for hours

sim: ## the simulated cluster (SEED=n: the first seed, RUNS=n: how many; one run alone is told step by step)
	ORRERY_SIM_SEED=$(or $(SEED),1) ORRERY_SIM_RUNS=$(or $(RUNS),100) go test -timeout 0 -count 1 -v -run TestSeeds ./shared/sim

verify: ## formatting, vet, staticcheck, module hashes
	@unformatted=$$(gofmt -l .) && [ -z "$$unformatted" ] || { echo "not formatted: $$unformatted"; exit 1; }
	go vet ./...
	go run $(STATICCHECK) ./...
	go mod verify

bench: ## benchmarks, with figures (S=S1,S4: these scenarios only)
	@bash local/setup.sh postgresql
	go run ./local/bench $(S)

dev: ## everything on this machine, until Ctrl-C
	@bash local/setup.sh postgresql
	@go run ./local/dev
