# The verbs of the project. Each does its own set-up; `make` alone lists them.
.DEFAULT_GOAL := help
.PHONY: help demo demo-bridge demo-slurmcluster demo-down test test-long check bench format build

help: ## this list
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1|\2/p' $(MAKEFILE_LIST) | column -t -s'|'

demo: ## a Slurm cluster on a local Kubernetes, and a first job (CLUSTER=mine IMAGES=prefix for your own cluster)
	@dev/demo up

demo-bridge: ## beside the demo, a pod that runs where and when Slurm says so
	@dev/demo-bridge

demo-slurmcluster: ## beside the demo, a Slurm cluster that is one object
	@dev/demo-slurmcluster

demo-down: ## remove what `make demo` installed
	@dev/demo down

build: ## the release build
	@dev/bootstrap && dev/build release

test: ## what CI runs: each tier in a short form; ONLY="unit kube" for some
	@began=$$(date +%s) && dev/bootstrap && dev/test --began "$$began" $(ONLY)

test-long: ## all of each tier, hours; ONLY=e2e for one, before a change of its area is called done
	@began=$$(date +%s) && dev/bootstrap && dev/test --long --began "$$began" $(ONLY)

check: ## format, layers, generated files, shell scripts
	@dev/bootstrap && dev/test check

bench: ## figures, as a table and in build/bench.json; ONLY=group for a part
	@dev/bootstrap && dev/bench $(ONLY)

format: ## clang-format over the sources
	@dev/bootstrap && git ls-files --cached --others --exclude-standard '*.h' '*.cc' | xargs clang-format-19 -i
