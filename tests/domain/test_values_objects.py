"""Objects as JSON text: models, mappings, their keys, and those that look like a tag."""

import dataclasses
import enum
from collections import ChainMap, OrderedDict, defaultdict, namedtuple
from datetime import UTC, date, datetime
from decimal import Decimal
from types import MappingProxyType
from typing import NamedTuple
from uuid import UUID

import pytest
from pydantic import BaseModel, ConfigDict
from pydantic import dataclasses as pydantic_dataclasses

from tachograph.domain.values import json_text


class Colour(enum.Enum):
    RED = "red"
    TAG = "$float"


class Level(enum.IntEnum):
    HIGH = 3


class Kind(enum.StrEnum):
    VIP = "vip"


class Text(str):
    def __str__(self) -> str:
        return "not what it holds"


@dataclasses.dataclass
class Line:
    sku: str
    price: Decimal


@pydantic_dataclasses.dataclass
class Parcel:
    weight: float


class Point(NamedTuple):
    x: int
    y: int


OldPoint = namedtuple("OldPoint", ["x"])  # the untyped form is in use too


class Order(BaseModel):
    order_id: str
    total: Decimal
    line: Line | None = None


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")

    a: int = 1


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Line("a", Decimal("1.50")), '{"sku":"a","price":1.50}'),
        (Parcel(weight=1.5), '{"weight":1.5}'),
        (Point(1, 2), '{"x":1,"y":2}'),
        (OldPoint(1), '{"x":1}'),
        (
            Order(order_id="#W1", total=Decimal("19.90"), line=Line("a", Decimal(1))),
            '{"order_id":"#W1","total":19.90,"line":{"sku":"a","price":1}}',
        ),
        (Order(order_id="#W1", total=Decimal("0E-3")), '{"order_id":"#W1","total":0.000,"line":null}'),
        (Open(b=[1]), '{"a":1,"b":[1]}'),  # type: ignore[call-arg]  # extra fields are allowed
        ({"order": Point(1, 2)}, '{"order":{"x":1,"y":2}}'),
    ],
    ids=lambda value: type(value).__name__,
)
def test_models_dataclasses_and_namedtuples_are_objects_of_their_fields(value: object, text: str) -> None:
    assert json_text(value) == text


@pytest.mark.parametrize(
    "value",
    [
        OrderedDict(a=1),
        defaultdict(int, a=1),
        MappingProxyType({"a": 1}),
        ChainMap({"a": 1}, {"a": 2}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_any_mapping_is_an_object(value: object) -> None:
    assert json_text(value) == '{"a":1}'


@pytest.mark.parametrize(
    ("key", "name"),
    [
        (1, "1"),
        (-5, "-5"),
        (True, "true"),
        (False, "false"),
        ("", ""),
        (Level.HIGH, "3"),
        (Kind.VIP, "vip"),
        (Colour.RED, "red"),
        (Text("held"), "held"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (date(2026, 3, 31), "2026-03-31"),
        (datetime(2026, 3, 31, 10, tzinfo=UTC), "2026-03-31T10:00:00+00:00"),
    ],
    ids=repr,
)
def test_a_key_is_its_text(key: object, name: str) -> None:
    assert json_text({key: 0}) == f'{{"{name}":0}}'


@pytest.mark.parametrize("tag", ["$float", "$bytes", "$literal"])
def test_an_object_that_looks_like_a_tag_is_marked_as_literal(tag: str) -> None:
    assert json_text({tag: "NaN"}) == f'{{"$literal":{{"{tag}":"NaN"}}}}'
    assert json_text({tag: 1, "b": 2}) == f'{{"{tag}":1,"b":2}}'
    assert json_text([{"a": {tag: []}}]) == f'[{{"a":{{"$literal":{{"{tag}":[]}}}}}}]'


@pytest.mark.parametrize(
    "value",
    [{Colour.TAG: "NaN"}, {Text("$float"): "NaN"}, MappingProxyType({"$float": "NaN"})],
    ids=["an Enum as key", "a subclass of str as key", "another mapping"],
)
def test_whatever_reads_as_a_tag_is_marked_as_literal(value: object) -> None:
    assert json_text(value) == '{"$literal":{"$float":"NaN"}}'


def test_a_model_with_a_tag_as_its_only_field_is_marked_as_literal() -> None:
    class Bare(BaseModel):
        model_config = ConfigDict(extra="allow")

    assert json_text(Bare.model_validate({"$float": "NaN"})) == '{"$literal":{"$float":"NaN"}}'
