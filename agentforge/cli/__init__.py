"""The program ``agentforge``: one module for each command, `main` for the words of the command line and its end.

It is a user of the framework like any other; nothing of it is needed to use AgentForge in Python. What is exported here
is for the commands of plugins (`agentforge.plugin.Command`):

```python
def run(options, console):
    async def work():
        async with compiled(options, console) as app:
            return await app.resolve(one_bean(app, options.bean, "thing", Thing))
    console.out(str(run_in_order(work())))
    return 0
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentforge.later import loaded_later

if TYPE_CHECKING:
    from agentforge.cli.application import beans_of, compiled, one_bean
    from agentforge.cli.console import Console
    from agentforge.cli.ending import run_in_order
    from agentforge.cli.offered import Offer, offers, run_for
    from agentforge.cli.one_call import call_tool, error_of, json_text, show_execution
    from agentforge.cli.text import count, is_text, table
    from agentforge.cli.usage import Parser, UsageError, near_miss

__all__ = (
    "Console",
    "Offer",
    "Parser",
    "UsageError",
    "beans_of",
    "call_tool",
    "compiled",
    "count",
    "error_of",
    "is_text",
    "json_text",
    "near_miss",
    "offers",
    "one_bean",
    "run_for",
    "run_in_order",
    "show_execution",
    "table",
)

_HOME = {
    "Console": "console",
    "Offer": "offered",
    "Parser": "usage",
    "UsageError": "usage",
    "beans_of": "application",
    "call_tool": "one_call",
    "compiled": "application",
    "count": "text",
    "error_of": "one_call",
    "is_text": "text",
    "json_text": "one_call",
    "near_miss": "usage",
    "offers": "offered",
    "one_bean": "application",
    "run_for": "offered",
    "run_in_order": "ending",
    "show_execution": "one_call",
    "table": "text",
}

__getattr__, __dir__ = loaded_later(globals(), _HOME)

del TYPE_CHECKING, loaded_later  # what is visible here is public
