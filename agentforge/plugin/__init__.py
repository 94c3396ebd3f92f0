"""What a plugin author needs, and how the framework finds and loads plugins.

A plugin is a distribution with one entry point in the group ``agentforge_kit.plugin``, named like the prefix of its
bean types. Its module imports all it needs from here:

```python
from agentforge.plugin import BeanSettings, BeanType, hookimpl

class EchoSettings(BeanSettings):
    prefix: str = ""
    \"\"\"Text put in front of every answer.\"\"\"

@hookimpl
def agentforge_bean_types(register):
    register(BeanType("echo.model", EchoSettings, lambda settings: ..., provides=ChatModel, summary="Repeats."))
```

Names are loaded on first use, so that a listing of plugins needs neither pydantic nor pluggy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentforge.later import loaded_later

if TYPE_CHECKING:
    from agentforge.plugin import hooks
    from agentforge.plugin.bean_settings import (
        Amount,
        BeanSettings,
        Count,
        CountFromZero,
        Field,
        Seconds,
        SecretStr,
        as_value_error,
    )
    from agentforge.plugin.bean_type import BeanContext, BeanType, fits
    from agentforge.plugin.builtin_views import ViewSettings, check_view, view_of, viewed_names
    from agentforge.plugin.catalogue import Catalogue, NotFound
    from agentforge.plugin.checking import CheckContext, CheckedBean, Finding
    from agentforge.plugin.command import Command
    from agentforge.plugin.components import Components
    from agentforge.plugin.discovery import ENTRY_POINT_GROUP, Found, discover
    from agentforge.plugin.faults import BeanTypeError, ComponentError, PluginError
    from agentforge.plugin.hooks import AGENTFORGE_API, hookimpl, implements
    from agentforge.plugin.manager import Plugins
    from agentforge.plugin.parameter import Need
    from agentforge.plugin.price_settings import PriceSettings, price_rows
    from agentforge.plugin.reference import Qualifier, Ref, RefField, references_of
    from agentforge.plugin.refused import Judge, refused_parameters
    from agentforge.plugin.request_settings import ParameterSettings
    from agentforge.plugin.root_file_only import RootFileOnly
    from agentforge.plugin.source_names import known_tool_names
    from agentforge.plugin.state import PluginState
    from agentforge.plugin.vendor_profile import VendorProfile

_HOME = {
    "AGENTFORGE_API": "hooks",
    "Amount": "bean_settings",
    "BeanContext": "bean_type",
    "BeanSettings": "bean_settings",
    "BeanType": "bean_type",
    "BeanTypeError": "faults",
    "Catalogue": "catalogue",
    "CheckContext": "checking",
    "CheckedBean": "checking",
    "Command": "command",
    "ComponentError": "faults",
    "Components": "components",
    "Count": "bean_settings",
    "CountFromZero": "bean_settings",
    "ENTRY_POINT_GROUP": "discovery",
    "Field": "bean_settings",
    "Finding": "checking",
    "Found": "discovery",
    "Judge": "refused",
    "Need": "parameter",
    "NotFound": "catalogue",
    "ParameterSettings": "request_settings",
    "PluginError": "faults",
    "PluginState": "state",
    "Plugins": "manager",
    "PriceSettings": "price_settings",
    "Qualifier": "reference",
    "Ref": "reference",
    "RefField": "reference",
    "RootFileOnly": "root_file_only",
    "Seconds": "bean_settings",
    "SecretStr": "bean_settings",
    "VendorProfile": "vendor_profile",
    "ViewSettings": "builtin_views",
    "as_value_error": "bean_settings",
    "check_view": "builtin_views",
    "discover": "discovery",
    "fits": "bean_type",
    "hookimpl": "hooks",
    "hooks": "hooks",
    "implements": "hooks",
    "known_tool_names": "source_names",
    "price_rows": "price_settings",
    "references_of": "reference",
    "refused_parameters": "refused",
    "view_of": "builtin_views",
    "viewed_names": "builtin_views",
}

__all__ = (
    "AGENTFORGE_API",
    "ENTRY_POINT_GROUP",
    "Amount",
    "BeanContext",
    "BeanSettings",
    "BeanType",
    "BeanTypeError",
    "Catalogue",
    "CheckContext",
    "CheckedBean",
    "Command",
    "ComponentError",
    "Components",
    "Count",
    "CountFromZero",
    "Field",
    "Finding",
    "Found",
    "Judge",
    "Need",
    "NotFound",
    "ParameterSettings",
    "PluginError",
    "PluginState",
    "Plugins",
    "PriceSettings",
    "Qualifier",
    "Ref",
    "RefField",
    "RootFileOnly",
    "Seconds",
    "SecretStr",
    "VendorProfile",
    "ViewSettings",
    "as_value_error",
    "check_view",
    "discover",
    "fits",
    "hookimpl",
    "hooks",
    "implements",
    "known_tool_names",
    "price_rows",
    "references_of",
    "refused_parameters",
    "view_of",
    "viewed_names",
)

__getattr__, __dir__ = loaded_later(globals(), _HOME)

del TYPE_CHECKING, loaded_later  # what is visible here is public
