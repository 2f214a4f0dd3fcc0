"""A process that answers approvals one after the other: `racer.py URL NAME grant|deny`, ids on its input."""

import asyncio
import sys
from uuid import UUID

from tachograph import open_store
from tachograph.adapters.deciding import Office, answer
from tachograph.domain.approvals.answering import Approver
from tachograph.domain.approvals.definition import Approval
from tachograph.domain.errors import AnswerRefused
from tachograph.tests.approvals.desk import Desk


async def main(url: str, name: str, said: str) -> None:
    store = open_store(url)
    agent = Desk(store, Approval()).agent
    print("ready", flush=True)
    for line in sys.stdin:
        approval_id = UUID(line.strip())
        try:
            state = await answer(Office(store), agent, approval_id, Approver(name), said, "It fits.")  # type: ignore[arg-type]  # an Answer
            print(f"{approval_id} {state.status}", flush=True)
        except AnswerRefused as exc:
            print(f"{approval_id} {exc.code}", flush=True)
    store.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
