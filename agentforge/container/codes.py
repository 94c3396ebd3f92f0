"""The stable codes of what can be wrong between beans; a code never changes its meaning."""

from __future__ import annotations

__all__ = (
    "AMBIGUOUS_BEAN",
    "BAD_COMPONENT",
    "BEAN_CYCLE",
    "NAME_CLASH",
    "NO_BEAN",
    "PLUGIN_UNUSABLE",
    "UNKNOWN_BEAN",
    "UNKNOWN_TYPE",
    "WRONG_BEAN",
)

#: A plugin that a type or the list ``plugins`` needs is missing, blocked, ambiguous, or failed while loading.
PLUGIN_UNUSABLE = "AF201"
#: A class or function that the ``scan`` roots do not hold, or whose parameters cannot be filled.
BAD_COMPONENT = "AF203"
#: No bean type has this name.
UNKNOWN_TYPE = "AF211"
#: No bean has this name, or the one that has it is abstract or out by its conditions.
UNKNOWN_BEAN = "AF212"
#: A bean stands where one of another contract is needed.
WRONG_BEAN = "AF213"
#: Several beans fit a constructor's parameter and none is primary.
AMBIGUOUS_BEAN = "AF214"
#: No bean fits a constructor's parameter.
NO_BEAN = "AF215"
#: Beans that need each other.
BEAN_CYCLE = "AF216"
#: Two things of one name: a bean and a bean type, a bean and an alias.
NAME_CLASH = "AF217"
