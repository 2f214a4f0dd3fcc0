"""
Outputs that only say their call's own arguments again: no evidence, since the model put the value there.

A search for an id that isn't there often returns the id with the news that nothing was found.
"""

from tachograph.domain.why.evidence import Evidence
from tachograph.domain.why.leaves import Lexeme
from tachograph.domain.why.match import Search
from tachograph.domain.why.matching import matches


class Echoes:
    """Tells which outputs only echo; what was looked for once is kept."""

    def __init__(self, evidence: Evidence) -> None:
        self._index = evidence.index
        self._held: dict[tuple[int, str, bool], bool] = {}

    def is_echo(self, leaf: int) -> bool:
        """Tell whether the text of a leaf stands in the arguments of the call whose output it is in."""
        text = self._index.text(leaf)
        return self.echoes(self._index.document(leaf), Lexeme(text) if self._index.is_number(leaf) else text)

    def echoes(self, document: int, value: str) -> bool:
        """
        Tell whether a value stands in the arguments of the call whose output a document is.

        Args:
            value: A text, or a Lexeme for a number.
        """
        documents = self._index.documents
        arguments = documents[document].arguments
        if arguments is None:
            return False
        key = (arguments, value, isinstance(value, Lexeme))
        if key not in self._held:
            following = documents[arguments + 1 : arguments + 2]
            end = following[0].start if following else self._index.size
            search = Search(self._index, end, since=documents[arguments].start)
            self._held[key] = bool(matches(search, value))
        return self._held[key]
