"""The interceptor chain around a model: advisors in their order, each one method, plain and streamed alike.

`Advisor` is what to write, `Chain` what it gets, `arranged` how a list becomes a chain. The built-in ones are loaded
on first use, so that a client without them starts as fast as before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentforge.advisor.advisor import Advised, Advisor
from agentforge.advisor.chain import KEEP, AdvisorObserver, Chain, ChainEnd, Keep, Link
from agentforge.advisor.faults import AdvisorError, AdvisorOrderError, BudgetExceededError, StructuredOutputError
from agentforge.advisor.model_call import model_call
from agentforge.advisor.placement import Placement, arranged, calls_tools, name_of
from agentforge.advisor.tool_calling import IntermediateText, LoopHistory, ToolCallingAdvisor
from agentforge.later import loaded_later

if TYPE_CHECKING:
    from agentforge.advisor.budget import BudgetAdvisor
    from agentforge.advisor.budget_account import BudgetPeriod, OnLimit
    from agentforge.advisor.budget_store import BudgetStore, InProcessBudgetStore
    from agentforge.advisor.logger import LoggerAdvisor
    from agentforge.advisor.message_memory import MEMORY_TURN, MessageMemoryAdvisor, Transcript
    from agentforge.advisor.output_type import OutputType, OutputTypeError
    from agentforge.advisor.reprompt import finished_rounds, reprompted
    from agentforge.advisor.safeguard import SafeguardAction, SafeguardAdvisor, SafeguardStage
    from agentforge.advisor.safeguard_checks import SafeguardCheck
    from agentforge.advisor.structured_output import StructuredMode, StructuredOutputAdvisor
    from agentforge.advisor.system_prompt import SystemPromptAdvisor, SystemPromptMode
    from agentforge.advisor.tool_search import ToolSearchAdvisor

_HOME = {
    "BudgetAdvisor": "budget",
    "BudgetPeriod": "budget_account",
    "OnLimit": "budget_account",
    "BudgetStore": "budget_store",
    "InProcessBudgetStore": "budget_store",
    "LoggerAdvisor": "logger",
    "MEMORY_TURN": "message_memory",
    "MessageMemoryAdvisor": "message_memory",
    "Transcript": "message_memory",
    "OutputType": "output_type",
    "OutputTypeError": "output_type",
    "finished_rounds": "reprompt",
    "reprompted": "reprompt",
    "SafeguardAction": "safeguard",
    "SafeguardAdvisor": "safeguard",
    "SafeguardStage": "safeguard",
    "SafeguardCheck": "safeguard_checks",
    "StructuredMode": "structured_output",
    "StructuredOutputAdvisor": "structured_output",
    "SystemPromptAdvisor": "system_prompt",
    "SystemPromptMode": "system_prompt",
    "ToolSearchAdvisor": "tool_search",
}

__all__ = (
    "KEEP",
    "MEMORY_TURN",
    "Advised",
    "Advisor",
    "AdvisorError",
    "AdvisorObserver",
    "AdvisorOrderError",
    "BudgetAdvisor",
    "BudgetExceededError",
    "BudgetPeriod",
    "BudgetStore",
    "Chain",
    "ChainEnd",
    "InProcessBudgetStore",
    "IntermediateText",
    "Keep",
    "Link",
    "LoggerAdvisor",
    "LoopHistory",
    "MessageMemoryAdvisor",
    "OnLimit",
    "OutputType",
    "OutputTypeError",
    "Placement",
    "SafeguardAction",
    "SafeguardAdvisor",
    "SafeguardCheck",
    "SafeguardStage",
    "StructuredMode",
    "StructuredOutputAdvisor",
    "StructuredOutputError",
    "SystemPromptAdvisor",
    "SystemPromptMode",
    "ToolCallingAdvisor",
    "ToolSearchAdvisor",
    "Transcript",
    "arranged",
    "calls_tools",
    "finished_rounds",
    "model_call",
    "name_of",
    "reprompted",
)

__getattr__, __dir__ = loaded_later(globals(), _HOME)

del TYPE_CHECKING, loaded_later  # what is visible here is public
