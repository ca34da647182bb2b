"""Drives agents of different clients and machines against a real server (conformance/README.md)."""
