"""What runs the tools."""

from agentforge import ToolExecutionRequest


def run_it(request: ToolExecutionRequest) -> str:
    """Runs all of them."""
    return request.name
