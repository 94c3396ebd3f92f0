"""The other of two plugins of the same name."""

raise AssertionError("imported")
