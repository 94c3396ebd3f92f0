"""From text to checked definitions: YAML with places, layers, placeholders, secrets, and faults that say what to do.

`load_layers` reads the files, `inherit` lays beans over those that they extend, `interpolate` fills the placeholders,
`read_root` checks the shape; `value_for` and `report_validation` stand between a bean's settings and the model of its
type. `AgentForgeSettings` is in
`agentforge.config.settings`, since it loads pydantic.
"""

from agentforge.config.bean_options import BeanOptions, Condition
from agentforge.config.definition import BeanDefinition, RootDefinition, read_bean, read_root
from agentforge.config.diagnostic import Diagnostic, did_you_mean, listed, nearest, render, with_article
from agentforge.config.faults import ConfigurationFaults, Reporter
from agentforge.config.fitting import hide_secrets, mark_of, report_validation, value_for
from agentforge.config.inheritance import inherit
from agentforge.config.interpolation import interpolate
from agentforge.config.layers import Layers, folder_of, load_layers, load_mapping
from agentforge.config.merge import merge
from agentforge.config.nodes import (
    Entry,
    MappingNode,
    Mark,
    Node,
    ObjectNode,
    ScalarNode,
    SecretNode,
    SequenceNode,
)
from agentforge.config.plugin_switches import PluginSwitches
from agentforge.config.scalars import to_value
from agentforge.config.source import from_mapping, read_yaml
from agentforge.config.trust import Trust
from agentforge.config.variables import SecretSource, Variables

__all__ = (
    "BeanDefinition",
    "BeanOptions",
    "Condition",
    "ConfigurationFaults",
    "Diagnostic",
    "Entry",
    "Layers",
    "MappingNode",
    "Mark",
    "Node",
    "ObjectNode",
    "PluginSwitches",
    "Reporter",
    "RootDefinition",
    "ScalarNode",
    "SecretNode",
    "SecretSource",
    "SequenceNode",
    "Trust",
    "Variables",
    "did_you_mean",
    "folder_of",
    "from_mapping",
    "hide_secrets",
    "inherit",
    "interpolate",
    "listed",
    "load_layers",
    "load_mapping",
    "mark_of",
    "merge",
    "nearest",
    "read_bean",
    "read_root",
    "read_yaml",
    "render",
    "report_validation",
    "to_value",
    "value_for",
    "with_article",
)
