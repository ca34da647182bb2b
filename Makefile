# The one entrance. Each target is a few words for people; the work is done by cargo, cmake and the
# scripts in make/. `make demo` and `make test` install what they need first (see make/setup.sh).

BUILD  ?= build
PREFIX ?= /usr/local
ONLY   ?=
FRAMES ?=
PROBLEM ?= lw3
TARGET ?=
export BUILD PREFIX ONLY FRAMES PROBLEM TARGET

.PHONY: help setup setup-rdma build python demo test test-machines test-rdma test-long bench fuzz tidy format generate install clean

help:  ## show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' Makefile

setup:  ## install what building and testing need (as root or with sudo); nothing if it is there
	@make/setup.sh

setup-rdma:  ## and what test-rdma needs: an emulator of a PC, and a kernel for its guest
	@make/setup.sh rdma

build: setup  ## build the interweave program, the client library and the examples
	@make/build.sh

python: build  ## the Python package: wheel and source distribution in build/python/dist
	@make/python.sh dist

demo: build  ## a running simulation shared live; FRAMES=n ends by itself, PROBLEM=sod|lax|lw3|kh, SIMULATOR=fortran|cpp
	@make/demo.sh

test: setup  ## everything that must hold, about half an hour on 2 cores
	@make/test.sh

test-machines: build  ## the client library's tests on nine emulated machines and Windows (MACHINES="alpha mips" for some)
	@make/test_machines.sh --all

test-rdma: setup-rdma build  ## the cluster's tests over verbs: soft RoCE in an emulated PC (no root; some minutes)
	@make/test_rdma.sh

test-long: build  ## the longer campaigns: 200 server kills, a million edits on ten machines and Windows, five minutes of fuzz a decoder
	@make/test_long.sh

bench: build  ## the figures, beside their rivals; ONLY=update|frame|read_lock|memory|translate for one
	@make/bench.sh

fuzz: build  ## fuzz every decoder; SECONDS_EACH=n (default 60)
	@make/fuzz.sh

tidy: setup  ## import edges, formatting, lints, generated code up to date
	@make/tidy.sh

format:  ## format all sources in place
	@make/format.sh

generate:  ## regenerate the protocol's codecs from spec/protocol
	@make/generate.sh

install: $(if $(TARGET),,build)  ## install into PREFIX (default /usr/local); TARGET=s390x-linux-gnu: the library for another machine
	@make/install.sh

clean:  ## remove what was built
	rm -rf $(BUILD) target
