"""The bean type as a configuration file sees it."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest

from agentforge.errors import ConfigurationError
from agentforge.masking import Secrets
from agentforge.model import ChatModel
from agentforge.plugin import BeanContext, BeanType, Components
from agentforge_local import LocalLlamaModel
from agentforge_local.plugin import LocalLlamaSettings, agentforge_bean_types


def local_llama() -> BeanType:
    found: list[BeanType] = []
    agentforge_bean_types(found.append)
    [only] = found
    return only


def context(folder: Path) -> BeanContext:
    return BeanContext("model", folder, Components((), folder), Secrets())


def test_it_registers_one_chat_model_that_needs_no_settings(tmp_path: Path) -> None:
    bean_type = local_llama()
    assert bean_type.name == "local.llama" and bean_type.provides is ChatModel and not bean_type.needs_settings
    bean = bean_type.create(LocalLlamaSettings(threads=1), context(tmp_path))
    assert isinstance(bean, LocalLlamaModel) and bean.model_name == "smollm2"


def test_a_relative_path_starts_at_the_file_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "tiny.gguf").write_bytes(b"GGUF....")
    bean = local_llama().create(LocalLlamaSettings(weights="tiny.gguf"), context(tmp_path))
    assert isinstance(bean, LocalLlamaModel) and bean.model_name == "tiny"


def test_a_missing_file_is_a_configuration_error_with_the_whole_path(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"none\.gguf") as caught:
        local_llama().create(LocalLlamaSettings(weights="none.gguf"), context(tmp_path))
    assert str(tmp_path) in caught.value.message


def test_the_entry_point_is_named_like_the_types_prefix() -> None:
    [entry] = [e for e in metadata.entry_points(group="agentforge_kit.plugin") if e.name == "local"]
    assert entry.value == "agentforge_local.plugin"
