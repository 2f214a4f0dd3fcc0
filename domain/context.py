"""Who a run acts for: given by the caller's session, never by the model."""

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict

from tachograph.domain.errors import InvalidId
from tachograph.domain.personal import PERSONAL

TRACE_ID_RULE = (
    "1 to 128 letters, digits, '.', '_', ':' or '-', the first a letter or digit, and not zeros alone"
)
PARTY_RULE = "1 to 200 printable characters"

_TRACE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}\Z")
# Spelt out: what str.isprintable refuses moves with the Unicode version, and these stand in old events.
_PRINTABLE = re.compile(
    "[^\x00-\x1f\x7f-\xa0\xad\u061c\u180e\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000"
    "\ud800-\udfff\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]{1,200}\\Z"
)
_ALL_ZEROS = re.compile(r"[0-]+\Z")


def check_trace_id(value: str) -> str:
    """
    Return the trace id unchanged.

    Raises:
        InvalidId: It breaks TRACE_ID_RULE. The one check for every way in.
    """
    if not _TRACE_ID.match(value) or _ALL_ZEROS.match(value):
        raise InvalidId("trace id", TRACE_ID_RULE)
    return value


def check_request_id(value: str) -> str:
    """Return the request id unchanged. Raises InvalidId: It breaks PARTY_RULE."""
    return _check_printable("request id", value)


def check_party(value: str) -> str:
    """Return the name of a tenant, actor, customer or permission. Raises InvalidId: It breaks PARTY_RULE."""
    return _check_printable("tenant, actor, customer or permission", value)


def _check_printable(field: str, value: str) -> str:
    if not _PRINTABLE.match(value) or value.isspace():
        raise InvalidId(field, PARTY_RULE)
    return value


TraceId = Annotated[str, AfterValidator(check_trace_id)]
Party = Annotated[str, AfterValidator(check_party)]


class TrustedContext(BaseModel):
    """What the caller's session vouches for; a tool argument that names a tenant is only data."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    trace_id: TraceId
    tenant: Party = "default"
    actor: Annotated[Party, PERSONAL] = "anonymous"
    customer: Annotated[Party | None, PERSONAL] = None
    permissions: tuple[Party, ...] = ()
