"""From settings to a source of tools: the factories of the beans, and their checks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from agentforge.errors import ConfigurationError
from agentforge.plugin import BeanContext, CheckContext, Finding
from agentforge_mcp.connection import McpConnection
from agentforge_mcp.environment import environment_of
from agentforge_mcp.options import HttpServer, McpOptions, OAuthClient, RestartPolicy, StdioServer
from agentforge_mcp.pins import pins_fault, read_pins
from agentforge_mcp.server_view import ServerView
from agentforge_mcp.settings import McpHttpSettings, McpSettings, McpStdioSettings
from agentforge_mcp.source import McpTools, SourceOptions

__all__ = ("check_http", "check_stdio", "endpoints_of", "make_http", "make_stdio")

_SECRET_NAME = re.compile(r"key|token|secret|pass|credential|auth|cookie|private", re.IGNORECASE)


def make_stdio(settings: McpStdioSettings, context: BeanContext) -> McpTools:
    """The tools of a program."""
    environment = {name: value.get_secret_value() for name, value in settings.environment.items()}
    passed = [name for name in settings.pass_environment if name in context.environment]
    # A program may write what it is given to its standard error. Not every value is a secret: masking words such as
    # "true" would tear texts apart.
    for name, value in (*environment.items(), *((name, context.environment[name]) for name in passed)):
        if _SECRET_NAME.search(name):
            # Each line of it, too: standard error is masked line by line.
            for each in (value, *value.splitlines()):
                context.secrets.add(each)
    server = StdioServer(
        (*settings.command, *settings.args),
        environment_of(environment, passed, context.environment),
        context.folder / settings.cwd if settings.cwd is not None else context.folder,
    )
    return _source(server, settings, context)


def make_http(settings: McpHttpSettings, context: BeanContext) -> McpTools:
    """The tools behind an address."""
    from agentforge.http import is_secret_header

    auth, oauth = settings.auth, settings.auth.oauth
    headers = {name: value.get_secret_value() for name, value in settings.headers.items()}
    secrets = list(headers.values())
    # Also without a word such as Bearer before it.
    secrets += [value.rpartition(" ")[2] for name, value in headers.items() if is_secret_header(name)]
    if auth.bearer is not None:
        secrets.append(auth.bearer.get_secret_value())
    if oauth is not None:
        secrets.append(oauth.client_secret.get_secret_value())
    proxy = settings.proxy.get_secret_value() if settings.proxy is not None else None
    if proxy is not None:
        secrets.append(urlsplit(proxy).password or "")
    for secret in secrets:
        context.secrets.add(secret)
    if auth.token is not None and not callable(getattr(auth.token, "token", None)):
        raise ConfigurationError(
            f"auth.token of {context.bean_id!r} is a {type(auth.token).__name__}, which gives no token",
            next_step="Name a component with 'async def token(self) -> str'.",
        )
    server = HttpServer(
        settings.url,
        headers,
        auth.bearer.get_secret_value() if auth.bearer is not None else auth.token,
        OAuthClient(oauth.client_id, oauth.client_secret.get_secret_value(), oauth.issuer, oauth.scope)
        if oauth is not None
        else None,
        str(context.folder / settings.ca_bundle) if settings.ca_bundle is not None else None,
        proxy,
    )
    return _source(server, settings, context)


def check_stdio(settings: McpStdioSettings, context: CheckContext) -> Iterator[Finding]:
    """What no single setting shows."""
    yield from _check(settings, context)
    cwd = settings.cwd
    # One with its whole path may be there only where the program runs.
    if cwd is not None and not Path(cwd).is_absolute() and not (context.folder / cwd).is_dir():
        step = "Make it, or give the folder to run in, relative to this file."
        yield Finding(f"there is no folder '{cwd}' beside this file", "cwd", step)


def check_http(settings: McpHttpSettings, context: CheckContext) -> Iterator[Finding]:
    """What no single setting shows; the addresses in a stranger's file are not asked."""
    yield from _check(settings, context)
    if context.inside is not None:
        message = "the address of an MCP server counts only in a trusted configuration"
        yield Finding(message, "url", "Load with trust='code', or remove the bean.")
    if settings.ca_bundle is not None and (refused := context.outside(settings.ca_bundle, "ca_bundle")) is not None:
        yield refused


def endpoints_of(settings: McpHttpSettings, context: BeanContext) -> tuple[str, ...]:
    """The server's address, without its query."""
    return (settings.url.partition("?")[0],)


def _check(settings: McpSettings, context: CheckContext) -> Iterator[Finding]:
    for name, value in (("filter", settings.filter), ("elicitation", settings.elicitation)):
        bean = context.bean(value) if value is not None else None
        kind = bean.provides if bean is not None else None
        if bean is None or kind is None or kind is object:
            continue
        if not any("__call__" in vars(each) for each in kind.__mro__):
            step = "Name a function, or an object that can be called."
            yield Finding(f"'{bean.id}' is a {kind.__name__}, which cannot be called", name, step)
    if isinstance(settings.pins, str):
        if (refused := context.outside(settings.pins, "pins")) is not None:
            yield refused
        elif (fault := pins_fault(context.folder / settings.pins, context.bean_id)) is not None:
            yield Finding(fault.message, "pins", fault.next_step)


def _source(server: StdioServer | HttpServer, settings: McpSettings, context: BeanContext) -> McpTools:
    for name in ("filter", "elicitation"):
        value = getattr(settings, name)
        if value is not None and not callable(value):
            raise ConfigurationError(
                f"{name} of {context.bean_id!r} is a {type(value).__name__}, which cannot be called",
                next_step="Name a function of the scan roots, or an object that can be called.",
            )
    restart = settings.restart
    options = McpOptions(
        protocol=settings.protocol,
        start_timeout=settings.start_timeout,
        call_timeout=settings.call_timeout,
        max_concurrent_calls=settings.max_concurrent_calls,
        max_result_bytes=settings.max_result_bytes,
        max_message_bytes=settings.max_message_bytes,
        max_input_rounds=settings.max_input_rounds,
        max_pages=settings.max_pages,
        max_tools=settings.max_tools,
        restart=RestartPolicy(restart.base, restart.cap, restart.stable),
        elicitation=settings.elicitation,
        sampling=settings.sampling,
        sampling_tokens=settings.sampling_tokens,
        keep_meta=settings.keep_meta,
    )
    serial = ("*",) if settings.serial is True else settings.serial or ()
    view = ServerView(settings, context.bean_id)
    made = McpTools(
        McpConnection(server, options, name=context.bean_id, secrets=context.secrets),
        SourceOptions(
            view=view,
            left_out=view.left_out,
            filter=settings.filter,
            effects=settings.effects,
            serial=serial,
            pins=_pins_of(settings, context.folder, context.bean_id),
            on_change=settings.on_change,
            trust=settings.trust,
            required=settings.required,
            lazy=context.lazy,
            resources=settings.resources is not None,
            prompts=settings.prompts is not None,
            send_context=settings.send_context,
            timeout=settings.call_timeout,
        ),
    )
    view.source = made
    return made


def _pins_of(settings: McpSettings, folder: Path, bean_id: str) -> dict[str, str] | None:
    pins = settings.pins
    if not isinstance(pins, str):
        return pins
    if (fault := pins_fault(folder / pins, bean_id)) is not None:
        raise fault
    # Where somebody only looks, there may be none yet: then no tool is as it was looked at.
    return read_pins(folder / pins, bean_id) or {}
