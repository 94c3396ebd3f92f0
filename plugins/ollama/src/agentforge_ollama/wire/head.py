"""All of a request body but its messages, made once for one set of parameters."""

from __future__ import annotations

from collections.abc import Mapping

from agentforge.errors import ConfigurationError
from agentforge.model import Notice, ResponseFormat
from agentforge.provider import Endpoint, Head, Settled, ToolBlock, complete_schema, dump_bytes, held_schema
from agentforge_ollama.rows import OllamaRow
from agentforge_ollama.wire.shape import OllamaTurnShape

__all__ = ("encode_head",)

#: What the server reads among its options only; beside them it would pass it over without a word.
_OPTIONS = frozenset(
    {
        "draft_num_predict",
        "frequency_penalty",
        "main_gpu",
        "min_p",
        "num_batch",
        "num_ctx",
        "num_gpu",
        "num_keep",
        "num_predict",
        "num_thread",
        "presence_penalty",
        "repeat_last_n",
        "repeat_penalty",
        "seed",
        "stop",
        "temperature",
        "top_k",
        "top_p",
        "typical_p",
        "use_mmap",
    }
)


def encode_head(
    settled: Settled,
    endpoint: Endpoint[OllamaRow],
    tools: ToolBlock,
    *,
    options: Mapping[str, object],
    fields: Mapping[str, object],
) -> Head[OllamaTurnShape]:
    """The head for parameters that are settled already; ``options`` and ``fields`` are those of every request."""
    notices = [*settled.notices, *tools.notices]
    custom = dict(settled.parameters.custom_parameters)
    further = custom.pop("tools", None)
    chosen = {**options, **_options(settled), **_custom_options(custom)}
    body: dict[str, object] = {**fields, **settled.extra}
    if (form := _format(settled.parameters.response_format, endpoint, notices)) is not None:
        body["format"] = form
    if chosen:
        body["options"] = chosen
    body.update(custom)
    rest = b"".join([b",%b:%b" % (dump_bytes(name), dump_bytes(value)) for name, value in body.items()])
    block = tools.body if settled.parameters.tools else b""
    if isinstance(further, (list, tuple)) and further:
        more = dump_bytes(list(further))
        block = block[:-1] + b"," + more[1:] if block else more
    if block:
        rest += b',"tools":' + block
    return Head(
        opening=b'{"model":%b,"messages":[' % dump_bytes(endpoint.model),
        # Said in both, as a server streams unless it is told not to.
        plain=b"]" + rest + b',"stream":false}',
        streamed=b"]" + rest + b',"stream":true}',
        shape=OllamaTurnShape.of(endpoint),
        tools=tools,
        notices=tuple(notices),
        base_url=settled.base_url,
        model=endpoint.model,
    )


def _options(settled: Settled) -> dict[str, object]:
    parameters = settled.parameters
    values: dict[str, object] = {
        "temperature": parameters.temperature,
        "top_p": parameters.top_p,
        "num_predict": parameters.max_output_tokens,
        "stop": list(parameters.stop) if parameters.stop else None,
        "seed": parameters.seed,
    }
    return {name: value for name, value in values.items() if value is not None}


def _custom_options(custom: dict[str, object]) -> Mapping[str, object]:
    given = custom.pop("options", None)
    if misplaced := sorted(_OPTIONS.intersection(custom)):
        raise ConfigurationError(
            f"custom_parameters.{misplaced[0]} has no effect there: it is one of the options of this API",
            next_step=f"Give custom_parameters: {{options: {{{misplaced[0]}: …}}}}.",
        )
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ConfigurationError(
            f"custom_parameters.options must be a mapping of options, not {type(given).__name__}",
            next_step="Give for example {options: {num_ctx: 32768}}.",
        )
    return given


def _format(wanted: ResponseFormat | None, endpoint: Endpoint[OllamaRow], notices: list[Notice]) -> object:
    """A word, or the schema itself: it has no name here, and the answer is held to each as far as its grammar goes."""
    if wanted is None or wanted.type == "text":
        return None
    if wanted.type == "json":
        return "json"
    schema = complete_schema(wanted.schema or {})
    if wanted.strict:
        held = held_schema(schema, f"response format {wanted.name!r}", endpoint, notices)
        return held if held is not None else schema
    return schema
