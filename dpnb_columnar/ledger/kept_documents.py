"""What a ledger keeps of a run so that it is paid once: the document of the model or of the scores released."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from dpnb_columnar.model.model import Model
    from dpnb_columnar.model.released_scores import ReleasedScores

ReleasedT = TypeVar("ReleasedT")


class Documents(Protocol[ReleasedT]):
    """How a ledger holds what a kind of run releases."""

    def written(self, released: ReleasedT, /) -> str:
        """Write a document."""

    def read(self, document: object, source: str, /) -> ReleasedT:
        """Read a document.

        Raises:
            DataError: if it is not of this kind, or is damaged.
        """


class ModelDocuments:
    """Documents of models."""

    def written(self, released: Model, /) -> str:
        """Write a model's document."""
        from dpnb_columnar.model.model_document import to_document, to_json

        return to_json(to_document(released))

    def read(self, document: object, source: str, /) -> Model:
        """Read a model's document."""
        from dpnb_columnar.model.model import from_document

        return from_document(document, source)


class ScoreDocuments:
    """Documents of released scores."""

    def written(self, released: ReleasedScores, /) -> str:
        """Write the document of released scores."""
        from dpnb_columnar.model.model_document import to_json
        from dpnb_columnar.model.released_scores import scores_document

        return to_json(scores_document(released))

    def read(self, document: object, source: str, /) -> ReleasedScores:
        """Read the document of released scores."""
        from dpnb_columnar.model.released_scores import read_scores

        return read_scores(document, source)
