# The one entrance. Each target is a few words for people; the work is done by cargo, cmake and the
# scripts in make/. Each target first installs the packages that it needs, and no others (make/setup.sh).

BUILD  ?= build
PREFIX ?= /usr/local
ONLY   ?=
FRAMES ?=
PROBLEM ?= lw3
SIMULATOR ?=
TARGET ?=
ROOM   ?= server/master
export BUILD PREFIX ONLY FRAMES PROBLEM SIMULATOR TARGET

.PHONY: help setup build python java dist docs demo demo-failover test test-deep test-all test-machines test-rdma test-long test-mutants bench sim sim-coverage fuzz fuzz-login tidy format \
  generate install clean

help:  ## show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' Makefile

demo:  ## a running simulation shared live; FRAMES=n ends by itself, PROBLEM=sod|lax|lw3|kh, SIMULATOR=fortran|cpp
	@make/setup.sh demo
	@make/build.sh demo
	@make/demo.sh

demo-failover:  ## the same on three servers, a primary and a standby; keys kill each of them
	@make/setup.sh demo-failover
	@make/build.sh demo
	@make/demo_failover.sh

test:  ## everything that a change may break, a quarter of an hour on 2 cores; ONLY=abi|ddss|store|web|... for one room
	@make/setup.sh test
	@make/test.py $(ONLY)

build:  ## build the interweave program, the libraries of client and cluster, and the examples
	@make/setup.sh build
	@make/build.sh

install:  ## install into PREFIX (default /usr/local); TARGET=s390x-linux-gnu: the client library for another machine
	@make/setup.sh $(if $(TARGET),demo,build)
	@$(if $(TARGET),,make/build.sh install)
	@make/install.sh

python:  ## the Python package: wheel and source distribution in build/python/dist
	@make/setup.sh python
	@make/build.sh library
	@make/python.sh dist

java:  ## the Java client: jar, sources and javadoc in the Maven repository build/java/repository
	@make/setup.sh java
	@make/java.sh build

dist:  ## all packages of a release, with checksums: wheels, npm, Java, Debian, sources (packaging/)
	@make/setup.sh dist
	@packaging/dist.sh

docs:  ## the documents as a site, with references of C, Python and Java: build/site
	@make/setup.sh docs
	@make/docs.sh

test-deep:  ## sanitizers, four emulated machines, random worlds, fuzz, lossy networks: three quarters of an hour; ONLY=sanitizers|machines|... for one stage
	@make/setup.sh test-deep
	@make/test.py $(or $(ONLY),deep)

test-all:  ## both, as CI runs them
	@make/setup.sh test-deep
	@make/test.py all

test-machines:  ## the client library's tests on nine emulated machines and Windows (MACHINES="alpha mips" for some)
	@make/setup.sh test-machines
	@make/build.sh demo
	@make/test_machines.sh --all

test-rdma:  ## the cluster's tests over verbs: soft RoCE in an emulated PC (no root; some minutes)
	@make/setup.sh rdma
	@make/build.sh tests
	@make/test_rdma.sh

test-long:  ## the longer campaigns: 200 server kills, a million edits on ten machines and Windows, five minutes of fuzz a decoder
	@make/setup.sh test-deep test-machines
	@make/build.sh tests
	@make/test_long.sh

test-mutants:  ## do a room's tests see changes of its sources? ROOM=server/master|server/lock|native/session|...: minutes to hours
	@make/setup.sh test
	@make/mutants.sh $(ROOM)

bench:  ## the figures and their rivals' in one run; ONLY=update|frame|read_lock|memory|translate|... for one
	@make/setup.sh bench
	@make/bench.sh

sim:  ## the server's engine and store in a simulated world that breaks: two minutes of seeds; SEED=n, SPACE=n or MOVES=n for one, MINUTES=n; TRACE=n prints a trace
	@make/setup.sh build
	@make/sim.sh

sim-coverage:  ## which lines of the engines the simulator runs; MINUTES=n (default 5)
	@make/setup.sh coverage
	@make/coverage.sh

fuzz:  ## fuzz every decoder; SECONDS_EACH=n (default 60); make/fuzz.sh merge keeps in the tree what was found
	@make/setup.sh fuzz
	@make/fuzz.sh

fuzz-login:  ## fuzz what clients say before they have logged in; INPUTS=n for each target (default 1000000)
	@make/setup.sh fuzz
	@make/fuzz.sh login

tidy:  ## import edges, formatting, lints, generated code up to date
	@make/setup.sh tidy
	@make/tidy.sh

format:  ## format all sources in place
	@make/setup.sh tidy
	@make/format.sh

generate:  ## regenerate the protocol's codecs and the C interface's numbers from spec/
	@make/generate.sh

setup:  ## install the packages for all of the above but test-machines, test-rdma and bench
	@make/setup.sh test-deep

clean:  ## remove what was built (the caches for other clones stay: ~/.cache/interweave)
	rm -rf $(BUILD) target
