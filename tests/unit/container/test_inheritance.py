"""Beans that extend one another, from the file to the object: what is taken over, and what is only there to be
extended."""

from __future__ import annotations

from textwrap import indent

import pytest

from tests.unit.container.kit import Kit, Thing, faults_of, marked

BASE = "base: {type: t.thing, label: base, number: 3, needs: [other], bean: {abstract: true, lazy: true, order: 5}}\n"
OTHER = "other: {type: t.thing}\n"


async def test_a_bean_is_laid_over_the_one_that_it_extends(kit: Kit) -> None:
    """Settings are taken over key by key; of the container's options only those of its life."""
    app = kit.beans(OTHER + BASE + "it: {number: 4, bean: {extends: base, primary: true}}")

    async with app:
        found = (await app.resolve("it")).settings
        assert (found.label, found.number) == ("base", 4)
        assert found.needs == (app.get("other"),)
    options = app.plan.beans["it"].options
    assert (options.lazy, options.primary, options.order, options.abstract) == (True, True, None, False)


def test_an_abstract_bean_is_not_there(kit: Kit) -> None:
    """Nothing of it is looked at: it may lack what only its heirs have."""
    app = kit.beans(OTHER + "base: {label: '${GONE}', nonsense: 1, bean: {abstract: true}}")

    assert app.plan.declared == ("other",)


REFERRED = {
    "a setting": "user: {type: t.thing, one: «base}",
    "a written reference": "user: {type: t.thing, one: {ref: «base}}",
    "depends_on": "user: {type: t.thing, bean: {depends_on: [«base]}}",
}


@pytest.mark.parametrize("user", REFERRED.values(), ids=REFERRED.keys())
def test_a_reference_to_an_abstract_bean_says_what_it_is(kit: Kit, user: str) -> None:
    text, [place] = marked("beans:\n" + indent(OTHER + BASE + user, "  "))

    [fault] = faults_of(kit.load(text))

    assert (fault.code, str(fault.mark)) == ("AF212", f"{kit.folder / 'app.yaml'}:{place}")
    assert fault.message == "the bean 'base' is abstract: it is only there to be extended"
    assert fault.next_step == "Name a bean that extends it, or declare one: bean: {extends: base}."


def test_a_fault_of_a_base_is_told_where_it_is_written(kit: Kit) -> None:
    text, [place] = marked(
        "beans:\n  base: {type: t.thing, number: «ten, bean: {abstract: true}}\n  it: {bean: {extends: base}}\n"
    )

    [fault] = faults_of(kit.load(text))

    assert (fault.code, str(fault.mark)) == ("AF108", f"{kit.folder / 'app.yaml'}:{place}")


def test_an_unknown_base_is_one_fault(kit: Kit) -> None:
    text, [place] = marked("beans:\n  base: {type: t.thing}\n  it: {bean: {extends: «bas}}\n")

    [fault] = faults_of(kit.load(text))

    assert (fault.code, str(fault.mark)) == ("AF120", f"{kit.folder / 'app.yaml'}:{place}")
    assert fault.next_step == "Did you mean 'base'?"


def test_a_condition_of_the_base_does_not_matter_to_its_heirs(kit: Kit) -> None:
    app = kit.beans("base: {type: t.thing, label: x, bean: {when: {profile: prod}}}\nit: {bean: {extends: base}}")

    assert app.plan.declared == ("it",)


async def test_an_overridden_base_still_lends_its_definition(kit: Kit) -> None:
    """The object takes the place of the bean, not that of its text."""
    given = Thing("given", [])
    app = kit.beans("base: {type: t.thing, label: base}\nit: {bean: {extends: base}}").override("base", given)

    async with app:
        assert app.get("base") is given
        assert app.get("it").settings.label == "base"


async def test_an_overridden_heir_is_not_looked_at(kit: Kit) -> None:
    given = Thing("given", [])
    app = kit.beans("it: {bean: {extends: gone}}").override("it", given)

    async with app:
        assert app.get("it") is given


async def test_an_object_may_stand_for_an_abstract_bean(kit: Kit) -> None:
    given = Thing("given", [])
    app = kit.beans(OTHER + BASE + "user: {type: t.thing, one: base}").override("base", given)

    async with app:
        assert app.get("user").settings.one is given
