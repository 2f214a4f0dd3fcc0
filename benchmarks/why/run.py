"""
How many honest values are explained, and how many invented ones are flagged.

    python benchmarks/why/run.py FILE... [--seed 20261201] [--list MUTATIONS.jsonl] [--invented]

A FILE is one of tau-bench or tau2, with rewards. Honest: the leaves of calls that change something, in
conversations with full reward. Invented: each leaf of such calls, of all conversations, in turn replaced by
a wrong value of its kind that occurs nowhere in the evidence before the call (compared as text and, for
numbers, by value); flagged means `unsupported`, `weak` or `coincidental`.
"""

import argparse
import json
import random
from collections import Counter, defaultdict
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from conversations import Conversation, Request, leaves, load, with_value  # type: ignore[import-not-found]
from mutations import KINDS, kind_of, mutations  # type: ignore[import-not-found]

from tachograph.domain.why import keys
from tachograph.domain.why.argument import STRONG, Argument
from tachograph.domain.why.explaining import LATEST
from tachograph.domain.why.match import PLACES_MAX
from tachograph.domain.why.numbers import decimal_key
from tachograph.domain.why.verdicts import Question, verdicts

FLAGGED = ("unsupported", "weak", "coincidental")


def main() -> None:
    """Measure each file and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--seed", type=int, default=20261201)
    parser.add_argument("--list", type=Path, help="write every mutation with its verdict, one a line")
    parser.add_argument("--invented", action="store_true", help="list what the model made up, in all runs")
    options = parser.parse_args()
    listed = options.list.open("w") if options.list else None
    print(f"Date: {datetime.now(UTC).date()}. Rules of version {LATEST}. Seed {options.seed}.\n")
    for path in options.files:
        digest, conversations = load(path)
        print(f"## {path.parent.name}/{path.name}\n\nSHA-256 {digest}\n")
        honest(conversations)
        made_up(conversations, random.Random(options.seed), listed)
        if options.invented:
            invented(conversations)


def honest(conversations: list[Conversation]) -> None:
    """Print what share of honest leaves is explained, by kind and verdict."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    unexplained: list[str] = []
    for conversation in conversations:
        for request in conversation.requests() if conversation.reward == 1 else ():
            values = dict(leaves(request.arguments))
            for argument in judged(conversation, request, request.call.arguments or "{}"):
                kind = kind_of(argument.pointer, values[argument.pointer]) or "closed"
                counts[kind][argument.verdict] += 1
                if argument.verdict == "unsupported":
                    unexplained.append(shown(conversation, request, argument))
    total = sum(counts.values(), Counter[str]())
    print("| honest | leaves | explained | strong | verdicts |\n| --- | ---: | ---: | ---: | --- |")
    for kind, of_kind in [*((kind, counts[kind]) for kind in sorted(counts)), ("**all**", total)]:
        count = of_kind.total()
        strong = sum(of_kind[verdict] for verdict in STRONG)
        said = ", ".join(f"{verdict} {number}" for verdict, number in of_kind.most_common())
        explained = share(count - of_kind["unsupported"], count)
        print(f"| {kind} | {count} | {explained} | {share(strong, count)} | {said} |")
    print("\nNot explained:\n\n" + "\n".join(f"- {line}" for line in unexplained or ["none"]) + "\n")


def made_up(conversations: list[Conversation], chance: random.Random, listed: Any) -> None:
    """Print what share of invented values is flagged, by kind and mutation."""
    counts: dict[tuple[str, str], Counter[bool]] = defaultdict(Counter)
    by_verdict: Counter[str] = Counter()
    missed: list[str] = []
    closed = 0
    fields = values_by_field(conversations)
    for conversation in conversations:
        for request in conversation.requests():
            before = conversation.texts_before(request.version)
            for pointer, value in leaves(request.arguments):
                kind = kind_of(pointer, value)
                closed += kind is None
                others = sorted(fields[field_of(pointer)] - {value}) if kind == "id" else ()
                for mutation in mutations(kind, value, others, chance) if kind else ():
                    if mutation.value == value or occurs(conversation, request, before, mutation.value):
                        continue
                    changed = with_value(request.arguments, pointer, mutation.value)
                    [argument] = [
                        argument
                        for argument in judged(conversation, request, changed)
                        if argument.pointer == pointer
                    ]
                    flagged = argument.verdict in FLAGGED
                    counts[kind, mutation.how][flagged] += 1
                    by_verdict[argument.verdict] += 1
                    if not flagged:
                        missed.append(f"{shown(conversation, request, argument)}, in place of {value}")
                    if listed:
                        row = [conversation.number, request.call.name, pointer, str(value), mutation.how]
                        listed.write(json.dumps([*row, str(mutation.value), argument.verdict]) + "\n")
    print("| invented | how | values | flagged |\n| --- | --- | ---: | ---: |")
    for (kind, how), of_kind in sorted(
        counts.items(), key=lambda item: (KINDS.index(item[0][0]), item[0][1])
    ):
        print(f"| {kind} | {how} | {of_kind.total()} | {share(of_kind[True], of_kind.total())} |")
    total = sum(counts.values(), Counter[bool]())
    print(f"| **all** | | {total.total()} | {share(total[True], total.total())} |")
    said = ", ".join(f"{verdict} {number}" for verdict, number in by_verdict.most_common())
    print(f"\nVerdicts: {said}. Left out as closed or empty: {closed} leaves.")
    print("\nNot flagged:\n\n" + "\n".join(f"- {line}" for line in missed or ["none"]) + "\n")


def invented(conversations: list[Conversation]) -> None:
    """List every unsupported leaf of calls that change something, whatever the reward."""
    print("What the models made up, in all conversations:\n")
    for conversation in conversations:
        for request in conversation.requests():
            for argument in judged(conversation, request, request.call.arguments or "{}"):
                if argument.verdict == "unsupported":
                    print(f"- {shown(conversation, request, argument)} (reward {conversation.reward:g})")
    print()


def judged(conversation: Conversation, request: Request, arguments: str) -> tuple[Argument, ...]:
    """Judge arguments as those of a call."""
    return verdicts(Question(conversation.evidence, request.before), arguments)


def occurs(conversation: Conversation, request: Request, before: str, value: Any) -> bool:
    """Tell whether a value stands in the evidence before a call, as a text or as a number."""
    if isinstance(value, Decimal):
        index = conversation.evidence.index
        places = index.places(keys.number(decimal_key(value)), request.before).latest(PLACES_MAX)
        return f"{value:f}" in before or any(index.trust(index.place(place).leaf) for place in places)
    return str(value).lower() in before


def values_by_field(conversations: list[Conversation]) -> dict[str, set[str]]:
    """Return the texts that each field had anywhere in a file."""
    fields: dict[str, set[str]] = defaultdict(set)
    for conversation in conversations:
        for request in conversation.requests():
            for pointer, value in leaves(request.arguments):
                if isinstance(value, str):
                    fields[field_of(pointer)].add(value)
    return fields


def field_of(pointer: str) -> str:
    """Return the name of the field at a pointer; for a member of a list, that of the list."""
    return next((part for part in reversed(pointer.split("/")) if not part.isdigit()), "")


def shown(conversation: Conversation, request: Request, argument: Argument) -> str:
    """Return one leaf with its verdict as a line."""
    value = getattr(argument.value, "lexeme", argument.value)
    why = f": {argument.why}" if argument.why else ""
    where = f"conversation {conversation.number}, {request.call.name} {argument.pointer}"
    return f"{where}: `{value}` {argument.verdict}{why}"


def share(part: int, whole: int) -> str:
    """Return a share in percent."""
    return f"{100 * part / whole:.1f} %" if whole else "-"


if __name__ == "__main__":
    main()
