"""OpenAPI descriptions: read, understood, and made into operations, with a report of what was left out and why.

```python
from pathlib import Path
from agentforge_http.openapi import ImportOptions, file_documents, import_description

made = import_description(file_documents(Path("orders.yaml")), ImportOptions(only=("get*",)))
for operation in made.operations: ...
for each in made.report.left_out: ...
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentforge.later import loaded_later

if TYPE_CHECKING:
    from agentforge_http.openapi.documents import Documents, fetched_documents, file_documents, one_document
    from agentforge_http.openapi.importing import Imported, ImportOptions, import_description
    from agentforge_http.openapi.report import ImportedOperation, ImportReport, LeftOut
    from agentforge_http.openapi.settings import OpenApiSettings
    from agentforge_http.openapi.source import OpenApiTools

__all__ = (
    "Documents",
    "ImportOptions",
    "ImportReport",
    "Imported",
    "ImportedOperation",
    "LeftOut",
    "OpenApiSettings",
    "OpenApiTools",
    "fetched_documents",
    "file_documents",
    "import_description",
    "one_document",
)

_HOME = {
    "Documents": "documents",
    "ImportOptions": "importing",
    "ImportReport": "report",
    "Imported": "importing",
    "ImportedOperation": "report",
    "LeftOut": "report",
    "OpenApiSettings": "settings",
    "OpenApiTools": "source",
    "fetched_documents": "documents",
    "file_documents": "documents",
    "import_description": "importing",
    "one_document": "documents",
}

__getattr__, __dir__ = loaded_later(globals(), _HOME)

del TYPE_CHECKING, loaded_later  # what is visible here is public
