"""A plugin that takes its time while it is imported, as much as the environment says."""

import os
import time

from agentforge.plugin import hookimpl

time.sleep(float(os.environ.get("SLOW_PLUGIN_SECONDS", "0")))


@hookimpl
def agentforge_bean_created(bean_id):
    """Listens, and does nothing."""
