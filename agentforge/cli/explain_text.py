"""What ``agentforge explain`` tells, for people."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agentforge.cli.text import count, shorten, table

__all__ = ("bean_text", "graph_text", "value_text")

_WIDEST = 60


def graph_text(data: Mapping[str, Any]) -> str:
    """Everything: the tree, the order, the conditions, the values."""
    beans = {bean["id"]: bean for bean in data["beans"]}
    parts = [f"{data['file']}: {count(len(beans), 'bean')}"]
    if beans:
        parts[0] += "\n\n" + "\n".join(_tree(data["roots"], beans))
        parts.append("built and started in this order: " + ", ".join(data["build_order"]))
    parts += [
        text for text in (_lists(data["lists"]), _conditions(data["conditions"]), _values(data["values"])) if text
    ]
    return "\n\n".join(parts)


def bean_text(data: Mapping[str, Any]) -> str:
    """One bean."""
    lines = [f"beans.{data['id']}: {_marked(data)}", f"  declared at {data['place']}"]
    if data["summary"]:
        lines.append(f"  {data['summary']}")
    lines.append(f"  built as number {data['built']}")
    lines += [f"  uses {use['bean']}{_later(use)} as {use['setting']}" for use in data["uses"]]
    lines += [f"  used by {use['bean']} as {use['setting']}" for use in data["used_by"]]
    lines += [f"  is in: {reason}" for reasons in data["conditions"] for reason in reasons]
    parts = ["\n".join(lines), *(text for text in (_lists(data["lists"]), _values(data["values"])) if text)]
    return "\n\n".join(parts)


def value_text(data: Mapping[str, Any]) -> str:
    """One value, or a bean that is not built."""
    if "values" in data:
        lines = [f"{data['path']}: not built"]
        lines += [f"  its bean is out: {reason}" for reason in data.get("out", ())] or ["  it is there to be extended"]
        return "\n\n".join(("\n".join(lines), _values(data["values"])))
    lines = [f"{data['path']} = {_shown(data['value'])}", f"  set by {_origin(data)}"]
    if data["layer"] != "default":
        default = "none: it must be given" if data["required"] else _shown(data["default"])
        if data["description"]:
            lines.append(f"  default: {default}")
    if data["description"]:
        lines.append(f"  {data['description']}")
    lines += [f"  its bean is out: {reason}" for reason in data.get("out", ())]
    return "\n".join(lines)


def _tree(roots: Sequence[str], beans: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    seen: set[str] = set()
    # Beans that only ask for one another have no root.
    for root in (*roots, *(each for each in beans if each not in roots)):
        if root not in seen:
            yield f"{root}: {_marked(beans[root])}"
            seen.add(root)
            yield from _branches(beans[root], beans, seen, "")


def _branches(
    bean: Mapping[str, Any], beans: Mapping[str, Mapping[str, Any]], seen: set[str], indent: str
) -> Iterator[str]:
    # By hand, not by recursion: a chain of beans may be longer than Python's stack.
    waiting = [(iter(list(enumerate(bean["uses"], 1 - len(bean["uses"])))), indent)]
    while waiting:
        uses, indent = waiting[-1]
        found = next(uses, None)
        if found is None:
            waiting.pop()
            continue
        number, use = found
        last = number == 0
        target = beans[use["bean"]]
        known = use["bean"] in seen
        yield f"{indent}{'└─' if last else '├─'} {_used(use, target, known)}"
        if not known:
            seen.add(use["bean"])
            inner = target["uses"]
            waiting.append((iter(list(enumerate(inner, 1 - len(inner)))), indent + ("   " if last else "│  ")))


def _used(use: Mapping[str, Any], target: Mapping[str, Any], known: bool) -> str:
    told = "shown above" if known else _marked(target)
    named = f"{told}, in place" if target["in_place"] else f"{target['id']} ({told})"
    return f"{use['setting']}{_later(use)}: {named}"


def _marked(bean: Mapping[str, Any]) -> str:
    marks = [bean["type"]]
    marks += [] if bean["scope"] == "singleton" else [bean["scope"]]
    marks += [word for word in ("lazy", "primary", "provider") if bean[word]]
    marks += [] if bean["order"] is None else [f"order {bean['order']}"]
    marks += [f"alias {name}" for name in bean["aliases"]]
    return ", ".join(marks)


def _later(use: Mapping[str, Any]) -> str:
    return " (asked for later)" if use["provider"] else ""


def _lists(lists: Sequence[Mapping[str, Any]]) -> str:
    lines: list[str] = []
    for each in lists:
        lines.append(f"  {each['bean']}.{each['setting']}")
        lines += [f"    {number}. {item['bean']}: {item['reason']}" for number, item in enumerate(each["items"], 1)]
    return "\n".join(["order of lists", *lines]) if lines else ""


def _conditions(conditions: Sequence[Mapping[str, Any]]) -> str:
    lines = [
        f"  {each['bean']} is {'in' if each['included'] else 'out'}: {'; '.join(each['reasons'])} ({each['place']})"
        for each in conditions
    ]
    return "\n".join(["conditions", *lines]) if lines else ""


def _values(values: Sequence[Mapping[str, Any]]) -> str:
    if not values:
        return ""
    return table(("value", "is", "set by"), [(each["path"], _shown(each["value"]), _origin(each)) for each in values])


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return shorten(text.replace("\n", "⏎"), characters=_WIDEST) if text else '""'


def _origin(data: Mapping[str, Any]) -> str:
    if data["layer"] == "default":
        return "default"
    place = "" if data["place"] == data["layer"] or data["place"].startswith(data["layer"]) else f" ({data['place']})"
    shown = data["place"] if not place else data["layer"] + place
    return ", ".join([shown, *data["through"]])
