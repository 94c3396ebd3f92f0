"""The whole configuration file as JSON Schema (draft 7), so that an editor completes, explains and underlines it.

It knows the bean types that are installed; what only a run can know (whether a bean exists, what a variable holds) it
leaves to `agentforge check`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from agentforge.config.definition import FORMAT_VERSION, RESERVED_IDS
from agentforge.config.diagnostic import with_article
from agentforge.plugin.options_schema import OPTIONS
from agentforge.plugin.settings_schema import PLACEHOLDER, settings_schema

if TYPE_CHECKING:
    from agentforge.plugin.bean_type import BeanType
    from agentforge.plugin.reference import RefField

__all__ = ("configuration_schema",)

Schema = dict[str, Any]

_NAME = r"^[a-z][a-z0-9_]*$|\$\{.+\}"
_DECLARED = rf"^(?!(?:{'|'.join(sorted(RESERVED_IDS))})$)(?!.*__)[a-z][a-z0-9_]*$"
_PLUGINS: Mapping[str, str] = {
    "required": "Plugins that are loaded; one that cannot be used is a fault.",
    "optional": "Plugins that are loaded where they can be used; else there is a warning.",
    "disabled": "Plugins that are never loaded.",
    "only": "The only plugins that may be loaded.",
}


def configuration_schema(types: Mapping[str, BeanType]) -> Schema:
    """The schema of a configuration whose beans may have these types, by name; equal types give equal texts.

    A file with ``agentforge: 1`` and without ``include`` is taken for whole: there each bean must have a type and all
    settings that its type demands. Any other may be a part, whose rest stands in another file.
    """
    return _Schema(dict(sorted(types.items()))).made()


class _Schema:
    def __init__(self, types: Mapping[str, BeanType]) -> None:
        self._types = types
        self._contracts: dict[type, str] = {}
        self._definitions: dict[str, Schema] = {"options": OPTIONS}

    def made(self) -> Schema:
        needs = {name: self._add(name, each) for name, each in self._types.items()}
        needs = {name: needed for name, needed in needs.items() if needed}
        self._definitions["bean"] = {
            "description": "A bean: its type, the type's settings, and what the container does with it.",
            **self._bean(self._types.values()),
        }
        self._definitions["whole_bean"] = {
            "if": _FROM_ANOTHER,
            "else": {
                "required": ["type"],
                "allOf": [_of_type(name, {"required": need}) for name, need in needs.items()],
            },
        }
        return {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "description": "A configuration of AgentForge. The bean types are those that were installed when this was "
            "written; the types of other plugins are unknown here.",
            "type": ["object", "null"],  # a profile may be an empty file
            "properties": {
                "agentforge": {"description": "The version of this format.", "enum": [FORMAT_VERSION]},
                "scan": _names("The packages whose classes and functions may be named as components."),
                "include": _names("Files that lie below this one; later ones lie over earlier ones."),
                "plugins": {
                    "description": "Plugins beside those that types name: those to load, or what becomes of which.",
                    "anyOf": [
                        _names("Plugins that are loaded; one that cannot be used is a fault."),
                        {
                            "type": "object",
                            "properties": {key: _names(text) for key, text in _PLUGINS.items()},
                            "additionalProperties": False,
                        },
                    ],
                },
                "beans": {
                    "description": "The beans by name.",
                    "type": ["object", "null"],
                    "propertyNames": {
                        "pattern": _DECLARED,
                        "not": {"enum": [name for name in self._types if "." not in name]},
                    },
                    "additionalProperties": {"$ref": "#/definitions/bean"},
                },
            },
            "additionalProperties": False,
            "if": {"required": ["agentforge"], "not": {"required": ["include"]}},
            "then": {"properties": {"beans": {"additionalProperties": {"$ref": "#/definitions/whole_bean"}}}},
            "definitions": self._definitions,
        }

    def _add(self, name: str, bean_type: BeanType) -> list[str]:
        """Define the settings of a type; returns those that must be given."""
        made = settings_schema(bean_type.settings, bean_type.references, name, self._reference)
        own = made[name]
        needed: list[str] = own.pop("required", [])
        own.setdefault("properties", {})
        own["description"] = bean_type.summary
        own["properties"] = {"type": {}, **own["properties"], "bean": {}}
        self._definitions.update(made)
        return needed

    def _reference(self, field: RefField) -> Schema:
        """One bean where a setting is a bean: its name, a name of a type, a `ref`, or a definition in place."""
        named: Schema = {"pattern": _NAME}
        if field.or_type:
            alone = [each.name for each in self._fitting(field.kind) if not each.needs_settings]
            # The types first: they are what an editor can offer.
            named = {"anyOf": [{"enum": alone}, named]} if alone else named
        return {
            "type": ["string", "object"],
            "if": {"type": "object"},
            "then": {"$ref": f"#/definitions/{self._contract(field.kind)}"},
            "else": named,
        }

    def _contract(self, kind: type) -> str:
        """The name of the definition of a bean in place that fits where this is asked for."""
        known = self._contracts.get(kind)
        if known is None:
            number = sum(each.__name__ == kind.__name__ for each in self._contracts)
            known = self._contracts[kind] = f"bean:{kind.__name__}" + (f".{number + 1}" if number else "")
            fitting = self._fitting(kind)
            needs = {
                each.name: [item.alias or key for key, item in each.settings.model_fields.items() if item.is_required()]
                for each in fitting
            }
            whole = {"allOf": [_of_type(name, {"required": need}) for name, need in needs.items() if need]}
            self._definitions[known] = {
                "description": f"A bean that is {with_article(kind.__name__)}, in place.",
                "type": "object",
                "if": {"required": ["ref"]},
                "then": {
                    "properties": {
                        "ref": {"description": "The name of a bean.", "type": "string", "pattern": _NAME},
                        "provider": {
                            "description": "Give a callable that gives the bean when it is called.",
                            "anyOf": [{"type": "boolean"}, PLACEHOLDER],
                        },
                    },
                    "additionalProperties": False,
                },
                "else": {**self._bean(fitting), "if": _FROM_ANOTHER, "else": whole},
            }
        return known

    def _fitting(self, kind: type) -> list[BeanType]:
        from agentforge.plugin.bean_type import fits

        # A type that is nothing in particular, such as a component, is what its own class is.
        return [each for each in self._types.values() if each.provides is object or fits(each.provides, kind)]

    def _bean(self, types: Iterable[BeanType]) -> Schema:
        known = {each.name: each for each in types}
        fields = (item for each in known.values() for item in each.settings.model_fields.items())
        settings = {field.alias or key: None for key, field in fields}
        anything = {"propertyNames": {"enum": ["type", "bean", *sorted(settings)]}}
        named = {
            "enum": list(known),
            "enumDescriptions": [each.summary for each in known.values()],
        }
        return {
            "type": "object",
            "properties": {
                "type": {"description": "What the bean is.", "anyOf": [named, PLACEHOLDER]},
                "bean": {"$ref": "#/definitions/options"},
            },
            "allOf": [
                *(_of_type(name, {"$ref": f"#/definitions/{name}"}) for name in known),
                # Without a type, or with one that is filled in later, it may be any of them.
                {"if": {"properties": {"type": PLACEHOLDER}}, "then": anything},
            ],
        }


#: Whether a bean takes its type and settings from another, or is only there to give them.
_FROM_ANOTHER: Schema = {
    "required": ["bean"],
    "properties": {
        "bean": {
            "anyOf": [
                {"required": ["extends"]},
                {"required": ["abstract"], "properties": {"abstract": {"const": True}}},
            ]
        }
    },
}


def _of_type(name: str, then: Schema) -> Schema:
    return {"if": {"required": ["type"], "properties": {"type": {"const": name}}}, "then": then}


def _names(description: str) -> Schema:
    return {"description": description, "type": ["array", "null"], "items": {"type": "string", "minLength": 1}}
