"""The stable codes of what can be wrong with a configuration; a code never changes its meaning."""

from __future__ import annotations

__all__ = (
    "BAD_BEAN_ID",
    "BAD_ENCODING",
    "BAD_OVERRIDE",
    "BAD_PLACEHOLDER",
    "BAD_SYNTAX",
    "BAD_VALUE",
    "BAD_VERSION",
    "DUPLICATE_KEY",
    "EXTENDS_CYCLE",
    "FILE_NOT_READ",
    "INCLUDE_CYCLE",
    "MISSING_KEY",
    "NOT_FROM_HERE",
    "NOT_TRUSTED",
    "PROFILE_NOT_FOUND",
    "SECRET_SOURCE_FAILED",
    "TOO_LARGE",
    "UNKNOWN_BASE",
    "UNKNOWN_KEY",
    "UNSET_SECRET",
    "UNSET_VARIABLE",
    "UNUSED_YAML",
)

#: A file is not there or cannot be read.
FILE_NOT_READ = "AF101"
#: A file is not UTF-8 or holds a character that YAML forbids.
BAD_ENCODING = "AF102"
#: The text is not YAML.
BAD_SYNTAX = "AF103"
#: The text is too long, too deep, or grows too much by its aliases, includes, bases or placeholders.
TOO_LARGE = "AF104"
#: A key stands twice in one mapping.
DUPLICATE_KEY = "AF105"
#: A part of YAML that is not taken here: tags, several documents, keys that are no text.
UNUSED_YAML = "AF106"
#: A key that does not exist at this place.
UNKNOWN_KEY = "AF107"
#: A value of the wrong kind.
BAD_VALUE = "AF108"
#: A key that must be there is not.
MISSING_KEY = "AF109"
#: The file is of a version of the format that this program does not read.
BAD_VERSION = "AF110"
#: A variable is not set and has no default.
UNSET_VARIABLE = "AF111"
#: A placeholder that cannot be read.
BAD_PLACEHOLDER = "AF112"
#: No source has the secret: the environment, the secrets directory, plugins.
UNSET_SECRET = "AF113"
#: A bean's name that is not allowed.
BAD_BEAN_ID = "AF114"
#: A key that counts only in the root file.
NOT_FROM_HERE = "AF115"
#: The file of a profile is not there.
PROFILE_NOT_FOUND = "AF116"
#: A value from the environment or the command line that cannot be put into its place.
BAD_OVERRIDE = "AF117"
#: Files that include one another.
INCLUDE_CYCLE = "AF119"
#: ``extends`` names no bean, or something that is no definition.
UNKNOWN_BASE = "AF120"
#: Beans that extend one another.
EXTENDS_CYCLE = "AF121"
#: A plugin that was asked for a secret failed, or the secret's file cannot be read.
SECRET_SOURCE_FAILED = "AF122"
#: Something that only a trusted configuration may do: choose code, or leave its folder.
NOT_TRUSTED = "AF123"
