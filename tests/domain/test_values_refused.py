"""What has no JSON text: refused by its path and its type, and never by its value."""

import dataclasses
import enum
import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, NamedTuple

import pytest
from pydantic import BaseModel

from tachograph.domain.values import DEPTH_MAX, Unserializable, json_text


class Level(enum.IntEnum):
    HIGH = 3


class Number(int):
    pass


@dataclasses.dataclass
class Line:
    sku: str
    price: Decimal


class Point(NamedTuple):
    x: int
    y: int


class Open(BaseModel):
    a: int = 1


@pytest.mark.parametrize(
    "value",
    [{"a": 0, 1: "a", "1": "b", "b": 0}, {True: "a", "true": "b"}, {Level.HIGH: 1, "3": 2}],
    ids=["int and str", "bool and str", "Enum and str"],
)
def test_two_keys_of_one_text_are_refused_so_that_no_value_is_lost(value: object) -> None:
    with pytest.raises(Unserializable, match="two keys that both read"):
        json_text(value)


@pytest.mark.parametrize("key", [None, 1.5, (1, 2), b"a", frozenset()], ids=repr)
def test_a_key_without_a_text_is_refused(key: object) -> None:
    with pytest.raises(Unserializable, match=r"a key of type builtins\.\w+ at /rates"):
        json_text({"rates": {key: 1}})


async def coroutine() -> int:
    return 1


def generator() -> Iterator[int]:
    yield 1


class Custom:
    def __repr__(self) -> str:
        return "secret=hunter2"


@pytest.mark.parametrize(
    ("value", "named"),
    [
        (Custom(), f"a {__name__}.Custom at the top"),
        ({"order": {"lines": [1, Custom()]}}, f"a {__name__}.Custom at /order/lines/1"),
        (Point(1, Custom()), f"a {__name__}.Custom at /y"),  # type: ignore[arg-type]  # what a careless tool does
        (Line("a", Custom()), f"a {__name__}.Custom at /price"),  # type: ignore[arg-type]  # the same
        ({Custom()}, f"a {__name__}.Custom at /*"),
        (Custom, "a builtins.type at the top"),
        (Open, "a pydantic._internal._model_construction.ModelMetaclass at the top"),
        (Line, "a builtins.type at the top"),
        (ValueError("hunter2"), "a builtins.ValueError at the top"),
        (generator(), "a builtins.generator at the top"),
        ((number for number in range(3)), "a builtins.generator at the top"),
        (iter([]), "a builtins.list_iterator at the top"),
        ({}.keys(), "a builtins.dict_keys at the top"),
        (range(3), "a builtins.range at the top"),
        (object(), "a builtins.object at the top"),
        (print, "a builtins.builtin_function_or_method at the top"),
        (lambda: 1, "a builtins.function at the top"),
        (1j, "a builtins.complex at the top"),
        (..., "a builtins.ellipsis at the top"),
        (NotImplemented, "a builtins.NotImplementedType at the top"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_anything_else_is_refused_by_path_and_type_never_by_value(value: object, named: str) -> None:
    with pytest.raises(Unserializable) as caught:
        json_text(value)
    assert str(caught.value) == named


def test_a_coroutine_is_refused_and_never_stored_as_its_repr() -> None:
    running = coroutine()
    with pytest.raises(Unserializable, match=r"a builtins\.coroutine at /result"):
        json_text({"result": running})
    running.close()


def _loop_of(container: Callable[[], Any], add: Callable[[Any, Any], None]) -> Any:
    outer = container()
    add(outer, outer)
    return outer


def _put(mapping: dict[str, Any], value: Any) -> None:
    mapping["self"] = value


CYCLES = {
    "list": (_loop_of(list, list.append), "/0"),
    "dict": (_loop_of(dict, _put), "/self"),
    "dict by list": ({"a": _loop_of(list, list.append)}, "/a/0"),
}


@pytest.mark.parametrize("name", CYCLES)
def test_a_cycle_is_refused_at_the_place_where_it_closes(name: str) -> None:
    value, place = CYCLES[name]
    with pytest.raises(Unserializable) as caught:
        json_text(value)
    assert str(caught.value) == f"a cycle, which contains itself, at {place}"


def test_a_cycle_by_a_model_or_a_dataclass_is_refused() -> None:
    line = Line("a", Decimal(1))
    line.price = line  # type: ignore[assignment]  # what a careless tool does
    looping = Open()
    looping.a = looping  # type: ignore[assignment]  # the same
    for value, place in ((line, "/price"), (looping, "/a")):
        with pytest.raises(Unserializable, match=f"a cycle, which contains itself, at {place}"):
            json_text(value)


def test_the_same_value_twice_is_no_cycle() -> None:
    shared = {"a": 1}
    assert json_text([shared, shared, {"b": shared}]) == '[{"a":1},{"a":1},{"b":{"a":1}}]'


def nested(levels: int) -> object:
    value: object = "core"
    for level in range(levels):
        value = {"a": value} if level % 2 else [value]
    return value


def test_as_many_levels_as_are_allowed_are_written() -> None:
    assert json.loads(json_text(nested(DEPTH_MAX))) == nested(DEPTH_MAX)


@pytest.mark.parametrize("levels", [DEPTH_MAX + 1, 1_000, 100_000])
def test_more_levels_are_refused(levels: int) -> None:
    with pytest.raises(Unserializable, match=f"more than {DEPTH_MAX} levels at "):
        json_text(nested(levels))


@pytest.mark.parametrize(
    "value",
    [10**5000, [10**5000], {"a": -(10**5000)}, {10**5000: 1}, Number(10**5000)],
    ids=["alone", "in a list", "in an object", "as a key", "of a subclass"],
)
def test_an_integer_that_python_can_not_read_back_is_refused(value: object) -> None:
    with pytest.raises(Unserializable, match="an integer of too many digits at "):
        json_text(value)


def test_a_long_path_is_named_short() -> None:
    with pytest.raises(Unserializable) as caught:
        json_text({"k" * 10_000: {"l" * 10_000: [Custom()]}})
    assert len(str(caught.value)) < 300


def test_a_value_that_shares_one_list_at_every_level_is_refused_in_bounded_time() -> None:
    """Thirty lists of two references each would be a text of a billion brackets."""
    shared: list[object] = []
    for _ in range(30):
        shared = [shared, shared]
    with pytest.raises(Unserializable, match="more than 2000000 lists and objects"):
        json_text(shared)
