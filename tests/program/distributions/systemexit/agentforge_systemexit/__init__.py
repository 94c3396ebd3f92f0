"""A plugin that wants to end the program while it is imported."""

import sys

sys.exit("this platform is not supported")
