"""
Who may go on when more wants to be done at once than is allowed: limits per tenant, per model and per tool.

Each model and each tool has a line of those that wait for it, tenant by tenant in turn, and within a tenant
first come first served. So a tenant with a thousand runs holds up another one by a single call, and who waits
for one tool is passed by those who wait for another.

Who could go on but for the tenant's own limit is passed too, but only once: it keeps its place in the line,
and is owed a place of the tenant that no other call of the tenant takes before it. So nobody waits for ever.
"""

import math
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

MINUTE_S: Final = 60.0
USES_MAX: Final = 10_000  # names of which the use is kept, besides those in use
ANY: Final = "*"

Kind = Literal["tenant", "model", "tool"]


@dataclass(frozen=True, slots=True)
class Limit:
    """
    What is allowed of one tenant, model or tool; None: as much as comes.

    Args:
        at_once: Calls under way at the same time.
        per_minute: Calls begun within any 60 seconds.
    """

    at_once: int | None = None
    per_minute: int | None = None

    def __post_init__(self) -> None:
        for number in (self.at_once, self.per_minute):
            if number is not None and number < 1:
                raise ValueError("a limit is 1 or more")


class Limited(NamedTuple):
    """What a limit is on."""

    kind: Kind
    name: str


@dataclass(frozen=True, slots=True)
class Limits:
    """
    Limits by name; `*` stands for any name that has none of its own, each counted by itself.

    Args:
        tenants: Of all model and tool calls of a tenant.
    """

    tenants: Mapping[str, Limit] = field(default_factory=dict)
    models: Mapping[str, Limit] = field(default_factory=dict)
    tools: Mapping[str, Limit] = field(default_factory=dict)

    def of(self, limited: Limited) -> Limit | None:
        """Return the limit of a tenant, model or tool."""
        named = {"tenant": self.tenants, "model": self.models, "tool": self.tools}[limited.kind]
        return named.get(limited.name, named.get(ANY))


@dataclass(eq=False, slots=True)
class Ticket:
    """One call that wants to be made: of a tenant, to a model or tool."""

    tenant: str
    target: Limited

    @property
    def limited_by(self) -> tuple[Limited, Limited]:
        """Whose limits it counts towards."""
        return Limited("tenant", self.tenant), self.target


@dataclass(slots=True)
class _Use:
    limit: Limit
    inside: int = 0
    begun: deque[float] = field(default_factory=deque)

    def room(self, now: float) -> float:
        """Return how many more may begin now."""
        while self.begun and self.begun[0] + MINUTE_S <= now:
            self.begun.popleft()
        at_once = math.inf if self.limit.at_once is None else self.limit.at_once - self.inside
        rate = math.inf if self.limit.per_minute is None else self.limit.per_minute - len(self.begun)
        return min(at_once, rate)

    def opens_at(self) -> float | None:
        """Return when there is room again though nobody leaves; asked while there is none."""
        full = self.limit.at_once is not None and self.inside >= self.limit.at_once
        return None if full else self.begun[0] + MINUTE_S

    def is_needed(self, now: float) -> bool:
        return self.inside > 0 or bool(self.begun and now - self.begun[-1] < MINUTE_S)

    def enter(self, now: float) -> None:
        self.inside += 1
        if self.limit.per_minute is not None:
            self.begun.append(now)


class Admission:
    """
    Lets tickets in, as many as the limits allow.

    Times are seconds of one clock that never goes back.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._used: dict[Limited, _Use] = {}
        # Of each target the tenants that wait, the next one first, each with its tickets in order.
        self._lines: dict[Limited, dict[str, deque[Ticket]]] = {}
        # Of each tenant the tickets that were passed because of its own limit, the first one first.
        self._owed: dict[str, list[Ticket]] = {}
        self.next_at: float | None = None  # When somebody may go in though nobody leaves.

    def is_free(self, ticket: Ticket) -> bool:
        """Tell whether no limit concerns a ticket."""
        return all(self._limits.of(limited) is None for limited in ticket.limited_by)

    def line_up(self, ticket: Ticket) -> None:
        """Put a ticket in its line."""
        self._lines.setdefault(ticket.target, {}).setdefault(ticket.tenant, deque()).append(ticket)

    def give_up(self, ticket: Ticket) -> None:
        """Take a ticket that waits out of its line."""
        line = self._lines[ticket.target]
        line[ticket.tenant].remove(ticket)
        if not line[ticket.tenant]:
            del line[ticket.tenant]
        if not line:
            del self._lines[ticket.target]
        self._no_longer_owe(ticket)

    def leave(self, ticket: Ticket) -> None:
        """Count a ticket that was let in as done."""
        for use in self._uses(ticket):
            use.inside -= 1

    def let_in(self, now: float) -> list[Ticket]:
        """Let in whoever may go in now, and return them in order."""
        self.next_at = None
        if len(self._used) > USES_MAX:
            self._used = {limited: use for limited, use in self._used.items() if use.is_needed(now)}
        return [ticket for target in list(self._lines) for ticket in self._let_in_of(target, now)]

    def _let_in_of(self, target: Limited, now: float) -> Iterator[Ticket]:
        line = self._lines[target]
        use = self._use(target)
        somebody = True
        while somebody:
            somebody = False
            for tenant in list(line):
                if use is not None and use.room(now) <= 0:
                    self._note(use.opens_at())
                    return
                ticket = line[tenant][0]
                if self._is_owed_or_free(ticket, now):
                    somebody = True
                    self._enter(ticket, now)
                    yield ticket
        if not line:
            del self._lines[target]

    def _enter(self, ticket: Ticket, now: float) -> None:
        """Count a ticket as let in; its tenant goes to the end of the line."""
        line = self._lines[ticket.target]
        tickets = line.pop(ticket.tenant)
        tickets.popleft()
        if tickets:
            line[ticket.tenant] = tickets
        self._no_longer_owe(ticket)
        for use in self._uses(ticket):
            use.enter(now)

    def _is_owed_or_free(self, ticket: Ticket, now: float) -> bool:
        """Tell whether its tenant has a place for a ticket; if not, the tenant owes it one."""
        use = self._use(Limited("tenant", ticket.tenant))
        if use is None:
            return True
        room, owed = use.room(now), self._owed.setdefault(ticket.tenant, [])
        if ticket not in owed:
            if room > len(owed):
                return True
            owed.append(ticket)
        if room <= 0:
            self._note(use.opens_at())
        return room > owed.index(ticket)

    def _no_longer_owe(self, ticket: Ticket) -> None:
        owed = self._owed.get(ticket.tenant, [])
        if ticket in owed:
            owed.remove(ticket)
        if not owed:
            self._owed.pop(ticket.tenant, None)

    def _note(self, at: float | None) -> None:
        if at is not None:
            self.next_at = at if self.next_at is None else min(self.next_at, at)

    def _uses(self, ticket: Ticket) -> list[_Use]:
        return [use for limited in ticket.limited_by if (use := self._use(limited)) is not None]

    def _use(self, limited: Limited) -> _Use | None:
        if limited not in self._used:
            limit = self._limits.of(limited)
            if limit is None:
                return None
            self._used[limited] = _Use(limit)
        return self._used[limited]
