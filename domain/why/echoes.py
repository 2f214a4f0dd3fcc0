"""
Outputs that only say their call's own arguments again: no evidence, since the model put the value there.

A search for an id that isn't there often returns the id with the news that nothing was found.
"""

from tachograph.domain.why.evidence import Evidence
from tachograph.domain.why.leaves import Lexeme
from tachograph.domain.why.match import Search
from tachograph.domain.why.matching import matches


def is_echo(evidence: Evidence, leaf: int) -> bool:
    """Tell whether the text of a leaf stands in the arguments of the call whose output it is in."""
    index = evidence.index
    arguments = index.documents[index.document(leaf)].arguments
    value = Lexeme(index.text(leaf)) if index.is_number(leaf) else index.text(leaf)
    return arguments is not None and stands_in_document(evidence, value, arguments)


def stands_in_document(evidence: Evidence, value: str, document: int) -> bool:
    """
    Tell whether a value stands in a document.

    Args:
        value: A text, or a Lexeme for a number.
    """
    index = evidence.index
    following = index.documents[document + 1 : document + 2]
    end = following[0].start if following else index.size
    return bool(matches(Search(index, end, since=index.documents[document].start), value))
