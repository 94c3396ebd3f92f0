"""What runs the tools of tools.yaml. One function for all: their names and parameters are data, as are those of an API
that somebody else describes."""

from agentforge.model import ToolExecutionRequest


def run_office(request: ToolExecutionRequest) -> dict[str, object]:
    """Do what the name says; here it is only told what would be done. The arguments were checked before."""
    operation, _, subject = request.name.partition("_")
    return {"operation": operation, "subject": subject, "with": request.arguments_as_map(), "status": "done"}
