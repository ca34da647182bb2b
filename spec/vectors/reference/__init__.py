"""The reference of the vectors: spec/ in Python, read from the prose alone."""
