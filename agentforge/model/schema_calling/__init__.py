"""Tools over a schema: tool calling for models that have structured output and no tool calling of their own.

The tools are described in the system prompt, and the reply is held to a JSON Schema of the possible calls. Three forms:

- the model may choose: ``{"calls": [{"tool": NAME, "arguments": {...}}, ...]}`` or ``{"answer": "..."}``;
- a call is required: only the first of these;
- exactly one tool is possible and required: ``{"tool": NAME, "arguments": {...}}``, which even the smallest model that
  is held to a grammar can fill.
"""

from agentforge.model.schema_calling.model import SchemaToolModel
from agentforge.model.schema_calling.turn import SchemaTurn, translate_request

__all__ = ("SchemaToolModel", "SchemaTurn", "translate_request")
