"""The verdicts that are recorded with the end of a run."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict

from tachograph.domain.personal import PERSONAL


class Provenance(BaseModel):
    """
    The verdicts on a terminal call's arguments as they stood when the run ended, by pointer.

    Recorded for agents with the evidence gate, and for tools that declare a source.

    Args:
        version: Of the rules that they were found by.
        declared: What the tool says about its arguments.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: int
    declared: Annotated[dict[str, str], PERSONAL]
    verdicts: Annotated[dict[str, str], PERSONAL]
