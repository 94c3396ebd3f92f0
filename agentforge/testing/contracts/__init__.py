"""Contract suites: what a kind of bean has to do, as classes of tests for plugin authors to subclass.

Each class is one kind; a subclass overrides the one method that makes the thing, and a test runner that collects
``test_`` methods of ``Test`` classes (pytest does) finds the rest. No test runner is imported here.
"""

from agentforge.testing.contracts.advisor import AdvisorContract
from agentforge.testing.contracts.chat_model import ChatModelContract
from agentforge.testing.contracts.error_handler import ErrorHandlerContract
from agentforge.testing.contracts.gate import ToolGateContract
from agentforge.testing.contracts.interceptor import ToolInterceptorContract
from agentforge.testing.contracts.memory_store import MemoryStoreContract
from agentforge.testing.contracts.plugin import PluginContract
from agentforge.testing.contracts.tool_source import ToolSourceContract
from agentforge.testing.contracts.wire_model import WireModelContract

__all__ = (
    "AdvisorContract",
    "ChatModelContract",
    "ErrorHandlerContract",
    "MemoryStoreContract",
    "PluginContract",
    "ToolGateContract",
    "ToolInterceptorContract",
    "ToolSourceContract",
    "WireModelContract",
)
