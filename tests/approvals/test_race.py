"""Two approvers, each a process of its own, answer the same approvals at the same time."""

import subprocess
import sys
from pathlib import Path
from uuid import UUID

import pytest

from tachograph import open_store
from tachograph.domain.approvals.definition import Approval

from .desk import Desk


def race(url: str, rounds: int) -> None:
    """One grants, one denies: of each approval one answer counts, and the other is recorded as refused."""
    store = open_store(url)
    desk = Desk(store, Approval())
    asked = [desk.asks() for _ in range(rounds)]
    command = [sys.executable, str(Path(__file__).with_name("racer.py")), url]
    racers = [
        subprocess.Popen([*command, *who], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for who in (["ann", "grant"], ["bob", "deny"])
    ]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    answers: dict[UUID, list[str]] = {approval_id: [] for approval_id in asked}
    for approval_id in asked:
        for racer in racers:
            assert racer.stdin is not None
            racer.stdin.write(f"{approval_id}\n")
            racer.stdin.flush()
        for racer in racers:
            assert racer.stdout is not None
            named, said = racer.stdout.readline().split()
            assert named == str(approval_id)
            answers[approval_id].append(said)
    for racer in racers:
        racer.communicate()
    winners = []
    for approval_id in asked:
        kinds = desk.kinds(approval_id)
        assert kinds in (["requested", "granted", "refused"], ["requested", "denied", "refused"])
        assert sorted(answers[approval_id]) == sorted([kinds[1], "already_decided"])
        winners.append(kinds[1])
    assert len(winners) == rounds
    store.close()


def test_one_decision_each(database_url: str) -> None:
    race(database_url, 50)


@pytest.mark.slow
def test_one_decision_each_a_thousand_times(database_url: str) -> None:
    race(database_url, 1000)
