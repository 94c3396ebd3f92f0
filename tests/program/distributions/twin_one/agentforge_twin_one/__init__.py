"""One of two plugins of the same name; neither may be imported."""

raise AssertionError("imported")
