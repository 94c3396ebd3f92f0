"""Declarations of tools from Python signatures: schemas, binding of arguments, strict subsets, safe names."""

from agentforge.tool.spec.binding import Binder
from agentforge.tool.spec.checks import check_schema
from agentforge.tool.spec.naming import SAFE_TOOL_NAME, distinct_tool_names, safe_tool_name
from agentforge.tool.spec.portable import check_portable_strict
from agentforge.tool.spec.signature import ToolParameter, ToolSignature, read_signature, tool_name_from
from agentforge.tool.spec.specifications import (
    tool_methods_of,
    tool_specification_from,
    tool_specifications_from,
    validate_specifications,
)
from agentforge.tool.spec.strict import StrictSchema, strict_schema

__all__ = (
    "SAFE_TOOL_NAME",
    "Binder",
    "StrictSchema",
    "ToolParameter",
    "ToolSignature",
    "check_portable_strict",
    "check_schema",
    "distinct_tool_names",
    "read_signature",
    "safe_tool_name",
    "strict_schema",
    "tool_methods_of",
    "tool_name_from",
    "tool_specification_from",
    "tool_specifications_from",
    "validate_specifications",
)
