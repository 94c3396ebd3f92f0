"""Declarations of tools from Python signatures: schemas, binding of arguments, strict subsets, safe names.

What compiles strict schemas is loaded on first use.
"""

from typing import TYPE_CHECKING

from agentforge.later import loaded_later
from agentforge.tool.spec.binding import Binder
from agentforge.tool.spec.checks import check_schema
from agentforge.tool.spec.naming import SAFE_TOOL_NAME, distinct_tool_names, safe_tool_name
from agentforge.tool.spec.signature import ToolParameter, ToolSignature, read_signature, tool_name_from
from agentforge.tool.spec.specifications import (
    tool_methods_of,
    tool_specification_from,
    tool_specifications_from,
    validate_specifications,
)
from agentforge.tool.spec.subset import PORTABLE, STANDARD, SchemaSubset, SubsetLimits

if TYPE_CHECKING:
    from agentforge.tool.spec.compile import CompiledSchema, compile_schema
    from agentforge.tool.spec.measure import SchemaSize, beyond_request_limits
    from agentforge.tool.spec.noting import SchemaNote
    from agentforge.tool.spec.portable import check_portable_strict

__all__ = (
    "PORTABLE",
    "SAFE_TOOL_NAME",
    "STANDARD",
    "Binder",
    "CompiledSchema",
    "SchemaNote",
    "SchemaSize",
    "SchemaSubset",
    "SubsetLimits",
    "ToolParameter",
    "ToolSignature",
    "beyond_request_limits",
    "check_portable_strict",
    "check_schema",
    "compile_schema",
    "distinct_tool_names",
    "read_signature",
    "safe_tool_name",
    "tool_methods_of",
    "tool_name_from",
    "tool_specification_from",
    "tool_specifications_from",
    "validate_specifications",
)

_HOME = {
    "CompiledSchema": "compile",
    "SchemaNote": "noting",
    "SchemaSize": "measure",
    "beyond_request_limits": "measure",
    "check_portable_strict": "portable",
    "compile_schema": "compile",
}

__getattr__, __dir__ = loaded_later(globals(), _HOME)

del TYPE_CHECKING, loaded_later  # what is visible here is public
