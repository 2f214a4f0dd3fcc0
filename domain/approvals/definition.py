"""What an agent says about the approval that one of its terminals asks for."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID, uuid5

from pydantic import BaseModel

from tachograph.domain.approvals.events import Then
from tachograph.domain.why.annotations import From

if TYPE_CHECKING:
    from tachograph.domain.tools import Tool

_APPROVALS: Final = UUID("6d0c2f8a-5f0e-5c57-9a0e-4e5b1f3a7c21")


@dataclass(frozen=True)
class Approval:
    """
    How people decide on what a terminal asks for, and what follows.

    Args:
        effect: The tool that a granted approval runs, once; it takes the terminal's arguments. The model is
            never offered it.
        continues: A decision starts a new run of the trace, with the decision as its input.
        needed: How many people have to grant it.
        group: The permission that an approver needs: a name, or where the run's record has it.
        policy: Where the run's record has the version of the policy that was applied.
        subject: Gives what `limit` is about, such as an order, from the arguments.
        limit: Says why a request can't be granted now beside the others on its subject, that were asked for
            before it and are not denied, expired or failed; None when it can.
        expires_after, escalates_after: None: never.
    """

    effect: "Tool | None" = None
    continues: bool = False
    needed: int = 1
    group: str | From | None = None
    policy: From | None = None
    subject: Callable[[Any], str] | None = None
    limit: Callable[[Any, Sequence[Any]], str | None] | None = None
    expires_after: timedelta | None = timedelta(days=3)
    escalates_after: timedelta | None = None

    @property
    def then(self) -> Then:
        """What follows a decision."""
        return "execute" if self.effect else "continue" if self.continues else "nothing"

    @property
    def described(self) -> dict[str, Any]:
        """What the agent's digest covers of it."""
        return {
            "then": self.then,
            "effect": [self.effect.name, self.effect.effect, self.effect.schema] if self.effect else None,
            "needed": self.needed,
            "group": str(self.group),
            "policy": str(self.policy),
            "limited": self.limit is not None,
            "expires_after": str(self.expires_after),
            "escalates_after": str(self.escalates_after),
        }

    def problem(self, arguments: type[BaseModel]) -> str | None:
        """Say what contradicts itself in the definition; None if nothing does."""
        if self.effect is not None and self.continues:
            return "an approval runs an effect or continues the conversation, not both"
        if self.effect is not None and self.effect.arguments is not arguments:
            return f"{self.effect.name} must take {arguments.__name__}, exactly what is approved"
        if (self.limit is None) != (self.subject is None):
            return "a limit needs a subject, and a subject a limit"
        return "an approval needs at least one person" if self.needed < 1 else None


def approval_id_of(run_id: UUID) -> UUID:
    """Return the id of the one approval that a run can ask for."""
    return uuid5(_APPROVALS, str(run_id))


def digest_of(tool: str, arguments: str) -> str:
    """Return the SHA-256 over a tool's name and its canonical arguments, in hexadecimal."""
    return hashlib.sha256(json.dumps([tool, arguments]).encode()).hexdigest()
