"""What is no test in this folder: distributions that break when they are imported."""

collect_ignore = ["distributions"]
