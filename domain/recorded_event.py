"""What every recorded event is."""

from datetime import datetime
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict

from tachograph.domain.personal import PERSONAL


class _Utc:
    """Accepts a time in UTC and refuses any other offset, so that one instant has one form."""

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: Any) -> Any:
        return {"type": "datetime", "tz_constraint": 0}


UtcTime = Annotated[datetime, _Utc]


class RecordedEvent(BaseModel):
    """What all events share. `recorded_at` is aware UTC; order comes from the version alone."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: ClassVar[str]
    recorded_at: UtcTime


class Settlement(BaseModel):
    """Who settled what nobody could know after a crash, and what that rests on."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    actor: Annotated[str, PERSONAL]
    reason: Annotated[str, PERSONAL]
