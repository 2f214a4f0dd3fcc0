"""Who may go on: given limits and those that wait, when one asks or leaves, then who is let in."""

import math
from collections import Counter, deque
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tachograph.domain.admission import MINUTE_S, Admission, Limit, Limited, Limits, Ticket

READ = Limited("tool", "read")


def ask(admission: Admission, tenant: str, target: Limited = READ) -> Ticket:
    ticket = Ticket(tenant, target)
    admission.line_up(ticket)
    return ticket


def test_no_more_are_let_in_than_may_be_at_once() -> None:
    admission = Admission(Limits(tools={"read": Limit(at_once=2)}))
    first, second, third = (ask(admission, "a") for _ in range(3))
    assert admission.let_in(0) == [first, second]
    admission.leave(first)
    assert admission.let_in(0) == [third]


def test_tenants_take_turns_however_much_one_of_them_wants() -> None:
    admission = Admission(Limits(tools={"read": Limit(at_once=1)}))
    many = [ask(admission, "many") for _ in range(100)]
    few = [ask(admission, "few") for _ in range(2)]
    order: list[Ticket] = []
    while len(order) < 5:
        [ticket] = admission.let_in(0)
        order.append(ticket)
        admission.leave(ticket)
    assert order == [many[0], few[0], many[1], few[1], many[2]]


def test_who_waits_for_one_tool_is_passed_by_those_for_another() -> None:
    admission = Admission(Limits(tools={"*": Limit(at_once=1)}))
    first, second = ask(admission, "a"), ask(admission, "a")
    other = ask(admission, "a", Limited("tool", "write"))
    assert admission.let_in(0) == [first, other]
    admission.leave(first)
    assert admission.let_in(0) == [second]


def test_a_tenant_at_its_limit_does_not_hold_up_the_others() -> None:
    admission = Admission(Limits(tenants={"a": Limit(at_once=1)}, tools={"read": Limit(at_once=3)}))
    first, waiting, other = ask(admission, "a"), ask(admission, "a"), ask(admission, "b")
    assert admission.let_in(0) == [first, other]
    admission.leave(first)
    assert admission.let_in(0) == [waiting]


def test_a_rate_is_of_any_sixty_seconds() -> None:
    admission = Admission(Limits(models={"m": Limit(per_minute=2)}))
    model = Limited("model", "m")
    tickets = [ask(admission, "a", model) for _ in range(4)]
    assert admission.let_in(10) == tickets[:2]
    assert admission.next_at == 10 + MINUTE_S
    for ticket in tickets[:2]:
        admission.leave(ticket)
    assert admission.let_in(69.9) == []
    assert admission.let_in(70) == tickets[2:]
    assert admission.next_at is None


def test_what_has_no_limit_is_free() -> None:
    admission = Admission(Limits(tools={"read": Limit(at_once=1)}, tenants={"a": Limit(at_once=1)}))
    assert admission.is_free(Ticket("b", Limited("tool", "write")))
    assert not admission.is_free(Ticket("b", READ))
    assert not admission.is_free(Ticket("a", Limited("model", "m")))


TENANTS = ("a", "b", "c")
TARGETS = (READ, Limited("tool", "write"), Limited("model", "m"))
LIMIT = st.builds(Limit, st.none() | st.integers(1, 3), st.none() | st.integers(1, 5))
LIMITS = st.builds(
    Limits,
    st.dictionaries(st.sampled_from(("a", "b", "*")), LIMIT),
    st.dictionaries(st.sampled_from(("m", "*")), LIMIT),
    st.dictionaries(st.sampled_from(("read", "*")), LIMIT),
)


class Door(RuleBasedStateMachine):
    """Any order of asking, leaving and giving up, at any time."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.limits = Limits()
        self.admission = Admission(self.limits)
        self.waiting: list[Ticket] = []
        self.inside: list[Ticket] = []
        self.begun: list[tuple[float, Ticket]] = []

    @initialize(limits=LIMITS)
    def begin(self, limits: Limits) -> None:
        self.limits, self.admission = limits, Admission(limits)

    @rule(tenant=st.sampled_from(TENANTS), wanted=st.sampled_from(TARGETS))
    def asks(self, tenant: str, wanted: Limited) -> None:
        self.waiting.append(ask(self.admission, tenant, wanted))
        self._look()

    @rule(place=st.integers(0, 99))
    def leaves(self, place: int) -> None:
        if self.inside:
            self.admission.leave(self.inside.pop(place % len(self.inside)))
            self._look()

    @rule(place=st.integers(0, 99))
    def gives_up(self, place: int) -> None:
        if self.waiting:
            self.admission.give_up(self.waiting.pop(place % len(self.waiting)))
            self._look()

    @rule(seconds=st.floats(0, 90))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds
        self._look()

    def _look(self) -> None:
        for ticket in self.admission.let_in(self.now):
            self.waiting.remove(ticket)
            self.inside.append(ticket)
            self.begun.append((self.now, ticket))

    @invariant()
    def no_limit_is_exceeded(self) -> None:
        inside = Counter(limited for ticket in self.inside for limited in ticket.limited_by)
        recent = Counter(
            limited for at, ticket in self.begun if self.now - at < MINUTE_S for limited in ticket.limited_by
        )
        for limited in inside | recent:
            limit = self.limits.of(limited) or Limit()
            assert limit.at_once is None or inside[limited] <= limit.at_once
            assert limit.per_minute is None or recent[limited] <= limit.per_minute

    @invariant()
    def nobody_waits_who_may_go_in(self) -> None:
        inside = Counter(limited for ticket in self.inside for limited in ticket.limited_by)
        recent = Counter(
            limited for at, ticket in self.begun if self.now < at + MINUTE_S for limited in ticket.limited_by
        )

        def room(limited: Limited) -> float:
            limit = self.limits.of(limited) or Limit()
            return min(
                math.inf if limit.at_once is None else limit.at_once - inside[limited],
                math.inf if limit.per_minute is None else limit.per_minute - recent[limited],
            )

        at_full_targets = Counter(ticket.tenant for ticket in self.waiting if room(ticket.target) <= 0)
        for ticket in self.waiting:
            owed_to_others = at_full_targets[ticket.tenant]
            assert room(ticket.target) <= 0 or room(Limited("tenant", ticket.tenant)) <= owed_to_others


TestDoor = Door.TestCase


@given(st.lists(st.sampled_from(TENANTS), min_size=1, max_size=30), st.integers(1, 3))
def test_everybody_who_waits_gets_in(tenants: list[str], at_once: int) -> None:
    admission = Admission(Limits(tools={"*": Limit(at_once=at_once)}, tenants={"*": Limit(at_once=1)}))
    waiting = {ask(admission, tenant) for tenant in tenants}
    while waiting:
        let_in = admission.let_in(0)
        assert let_in
        waiting -= set(let_in)
        for ticket in let_in:
            admission.leave(ticket)


@pytest.mark.parametrize("limit", [Limit(at_once=1), Limit(per_minute=1)], ids=["at once", "per minute"])
def test_a_tenants_other_calls_do_not_keep_it_from_a_busy_model(limit: Limit) -> None:
    """Tenant a is always in a tool call when the model is free, and the model is busy when that call ends."""
    admission = Admission(Limits(tenants={"a": limit}, models={"m": Limit(at_once=1)}))
    model, now = Limited("model", "m"), 0.0
    inside: deque[Ticket] = deque(admission.let_in(now))
    ask(admission, "a"), ask(admission, "b", model)
    inside.extend(admission.let_in(now))
    wanted = ask(admission, "a", model)
    for _ in range(4):
        ask(admission, "a"), ask(admission, "b", model)
        now += MINUTE_S / 2
        admission.leave(next(ticket for ticket in inside if ticket.target == model))
        inside = deque(ticket for ticket in inside if ticket.target != model)
        inside.extend(admission.let_in(now))
        if wanted in inside:
            break
        now += MINUTE_S / 2
        for ticket in [ticket for ticket in inside if ticket.target == READ]:
            inside.remove(ticket)
            admission.leave(ticket)
        inside.extend(admission.let_in(now))
    assert wanted in inside


@given(st.randoms(use_true_random=False), st.integers(1, 2), st.integers(1, 2), st.integers(1, 2))
def test_nobody_is_passed_for_ever(random: Random, tenants: int, models: int, tools: int) -> None:
    """However long others go on asking, and in whatever order calls end."""
    admission = Admission(Limits({"*": Limit(tenants)}, {"*": Limit(models)}, {"write": Limit(tools)}))
    for tenant in TENANTS:
        for target in TARGETS:
            ask(admission, tenant, target)
    inside = admission.let_in(0)
    wanted = ask(admission, "a", Limited("model", "m"))
    # Each call that ends is asked for again, by the same tenant.
    for _ in range(len(TENANTS) * len(TARGETS)):
        for ended in random.sample(inside, len(inside)):
            inside.remove(ended)
            admission.leave(ended)
            ask(admission, ended.tenant, ended.target)
            inside.extend(admission.let_in(0))
            if wanted in inside:
                return
    assert wanted in inside
