"""A scikit-learn classifier whose every fit is differentially private. Needs the extra ``sklearn``.

No error text holds a value or a number of rows: scikit-learn's ``check_array`` would quote both. So would a type that
numpy chooses for a list: one row's None or word would change how the numbers of all other rows are read.
"""

from __future__ import annotations

import logging
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from os import PathLike
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from dpnb_columnar.api.arguments import payment_of
from dpnb_columnar.api.model import Model
from dpnb_columnar.core.noise import ExactSampler, SeededBits
from dpnb_columnar.counting.inputs import FrameInput
from dpnb_columnar.domain import Domain, Label, Numeric
from dpnb_columnar.domain.column_kinds import Kind, kind_of, value_keys
from dpnb_columnar.domain.declaration import read_domain
from dpnb_columnar.domain.editing import with_unit
from dpnb_columnar.domain.names import listed, number_text
from dpnb_columnar.errors import Error
from dpnb_columnar.model.scoring import PREDICTED, probability_column
from dpnb_columnar.options import AttributeWeights, Charged, MechanismName, NeighboursName, NoiseName, Terms
from dpnb_columnar.public_sample import planned_release
from dpnb_columnar.rows.frames import to_polars
from dpnb_columnar.rows.row_rules import cell_of, is_pandas, plain, series_of, text_of
from dpnb_columnar.runtime.confinement import confined
from dpnb_columnar.training import carry_out

NAME = "SmoothNaiveBayes"
"""Name of the domain, and of the place where it is declared."""


def declared_domain(names: Sequence[str], bounds: Any, categories: Any, classes: Sequence[object]) -> Domain:
    """Make the domain of some columns, of (lower, upper) or (lower, upper, step) each, or of listed values."""
    values = _by_name(categories or {}, names, "categories")
    numeric = [name for name in names if name not in values]
    if isinstance(bounds, Mapping):
        ranges = _by_name(bounds, names, "bounds")
    else:
        ranges = {} if bounds is None else dict.fromkeys(numeric, bounds)
    _check_each_once(names, ranges, values)
    attributes = {name: _categorical(values[name]) if name in values else _numeric(ranges[name]) for name in names}
    label = {"column": free_name(names), "classes": [text_of(label) for label in classes]}
    return read_domain(NAME, {"label": label, "attributes": attributes}, NAME)


def labelled_by_y(domain: Domain) -> Domain:
    """Return the domain with its label read from one column, that of y; it declares no weight."""
    if domain.weight is not None:
        raise ValueError(
            f"domain: declares the weight {domain.weight.column}, and fit takes none, since a sample_weight of 2 would "
            "mean a row that is there twice; train a frame with the weight's column by dpnb_columnar.train"
        )
    if domain.label.condition is None:
        return domain
    taken = [*(each.name for each in domain.attributes), *(() if domain.unit is None else domain.unit.columns)]
    return replace(domain, label=Label(domain.classes, free_name(taken)))


def by_groups(domain: Domain, rows: int | None, *, given: bool) -> Domain:
    """Return the domain, labelled by y, counted by groups of so many rows; as it is where there are none."""
    if not given:
        if rows is not None or domain.unit is not None:
            raise ValueError("groups: missing; give fit the group of each row, or leave unit_rows and the unit out")
        return domain
    most = domain.unit.rows if rows is None and domain.unit is not None else rows
    columns = None if domain.unit is None or len(domain.unit.columns) > 1 else domain.unit.columns
    return with_unit(domain, columns or [free_name(domain.columns, "group")], most)


def free_name(names: Sequence[str], name: str = "y") -> str:
    """Choose a name for the column of labels, or another, that no other column has, in upper or lower case."""
    taken = {name.lower() for name in names}
    while name in taken:
        name += "_"
    return name


def _by_name(declared: Any, names: Sequence[str], parameter: str) -> dict[str, Any]:
    """Map column names to declarations, where columns may be named by position as well."""
    if not isinstance(declared, Mapping):
        raise ValueError(f"{parameter}: expected a mapping of columns, found {type(declared).__name__}")
    by_name: dict[str, Any] = {}
    for column, body in declared.items():
        position = isinstance(column, int | np.integer) and 0 <= column < len(names)
        name = names[column] if position else column
        if name not in names:
            raise ValueError(f"{parameter}: there is no column {column!r}; the columns are {', '.join(names)}")
        if name in by_name:
            raise ValueError(f"{parameter}: column {name!r} is declared twice, by name and by position")
        by_name[name] = body
    return by_name


def _check_each_once(names: Sequence[str], ranges: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    if twice := [name for name in ranges if name in values]:
        raise ValueError(f"{_listed(twice)}: declared in bounds and in categories; leave one of them out")
    if lacking := [name for name in names if name not in ranges and name not in values]:
        raise ValueError(
            f"{_listed(lacking)}: not declared. Give bounds=(lower, upper) for all numeric columns, "
            f"bounds={{{lacking[0]!r}: (lower, upper)}} or categories={{{lacking[0]!r}: [...]}}. They are public facts "
            "(of a codebook), never taken from X"
        )


def _numeric(body: Any) -> dict[str, Any]:
    if not isinstance(body, Sequence | np.ndarray) or isinstance(body, str) or len(body) not in (2, 3):
        raise ValueError(f"bounds: expected (lower, upper) or (lower, upper, step), found {body!r:.80}")
    return dict(zip(("lower", "upper", "step"), map(_written, body), strict=False))


def _written(number: object) -> object:
    """Return the number that was typed: of a float its shortest text, so that 0.1 is one tenth."""
    if isinstance(number, float | np.floating):
        return str(number)
    return int(number) if isinstance(number, np.integer) else number


def _categorical(body: Any) -> dict[str, Any]:
    listed = isinstance(body, Sequence | range | np.ndarray) and not isinstance(body, str)
    return {"values": [text_of(value) for value in body] if listed else body}


def _listed(names: Sequence[str]) -> str:
    return f"column{'s' * (len(names) > 1)} {', '.join(map(repr, names))}"


def table_of(X: Any) -> Any:
    """Return the rows as a Polars frame, a pandas frame or an array of two dimensions; refuse what is none."""
    if isinstance(X, pl.LazyFrame):
        raise TypeError("X is a LazyFrame; collect it first")
    table: Any
    if isinstance(X, pl.DataFrame | pa.Table):
        table = to_polars(X)
    elif is_pandas(X, "DataFrame"):
        table = X
        if twice := [str(name) for name, times in Counter(X.columns).items() if times > 1]:
            raise ValueError(f"X: expected unique column names; drop all but one of those named {listed(twice)}")
    else:
        table = _rows_of(X) if _is_sequence(X) else array_of(X, "X")
        if table.ndim != 2:
            raise ValueError(
                f"Expected 2D array, got {table.ndim}D array instead. Reshape your data: array.reshape(-1, 1) if it is "
                "one column, array.reshape(1, -1) if it is one row"
            )
    if table.shape[1] == 0:  # in scikit-learn's words, the number of rows left out
        raise ValueError("X: found 0 feature(s) (shape=(, 0)) while a minimum of 1 is required.")
    return table


def array_of(values: Any, name: str) -> np.ndarray[Any, Any]:
    """Return values as an array: arrays of their own type, a sequence as its elements, of type ``object``."""
    if hasattr(values, "toarray"):
        raise TypeError(f"{name}: sparse data was passed, but dense data is required; use {name}.toarray()")
    if _is_sequence(values):
        return np.fromiter(values, dtype=object, count=len(values))
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError(f"{name}: not an array; are all rows equally long?") from None
    if array.dtype.kind == "c":
        raise ValueError(f"{name}: Complex data not supported")
    return array


def _rows_of(rows: Sequence[Any]) -> np.ndarray[Any, Any]:
    """Return a sequence of rows as an array of type ``object``, of one dimension where an element is no row."""
    if not rows or not all(_is_sequence(row) or getattr(row, "ndim", 0) for row in rows):
        return array_of(rows, "X")
    if len({len(row) for row in rows}) > 1:
        raise ValueError("X: not an array; are all rows equally long?")
    shape = len(rows), len(rows[0])
    return np.fromiter(chain.from_iterable(rows), dtype=object, count=shape[0] * shape[1]).reshape(shape)


def _is_sequence(values: object) -> bool:
    """Test for a list, tuple or the like, whose elements are of no declared type."""
    return isinstance(values, Sequence) and not isinstance(values, str | bytes)


def frame_of(table: Any, names: Sequence[str], domain: Domain, *others: pl.Series) -> pl.DataFrame:
    """Select the columns of a table that are attributes of the domain, and add others of as many rows."""
    attributes = {attribute.name: attribute for attribute in domain.attributes}
    columns = [
        series_of(values, name, numeric=isinstance(attributes[name], Numeric))
        for name, values in zip(names, _columns(table), strict=True)
        if name in attributes
    ]
    return pl.DataFrame([*columns, *others])


def _untyped(values: pl.Series | NDArray[Any]) -> bool:
    return not isinstance(values, pl.Series) and values.dtype == object


def _columns(table: Any) -> Iterator[Any]:
    if isinstance(table, pl.DataFrame):
        return iter(table.get_columns())
    if isinstance(table, np.ndarray):
        return iter(table.T)
    return (table.iloc[:, position] for position in range(table.shape[1]))


NUMBERED = (Kind.INTEGER, Kind.UNSIGNED, Kind.FLOAT, Kind.BOOLEAN)
"""Kinds of columns whose labels are numbers."""

UNTYPED = (Kind.INTEGER, Kind.BOOLEAN)
"""Kinds that the classes of labels without a type may be of, if they are not text."""


def distinct(labels: pl.Series | NDArray[Any]) -> list[Any]:
    """List the labels that occur, at least two, sorted, without those that are missing. For public labels only."""
    if isinstance(labels, pl.Series):
        values = labels.to_list()
    else:
        values = list(map(cell_of, labels)) if _untyped(labels) else labels.tolist()
    present = [value for value in values if text_of(value) is not None]
    if len({type(label) if isinstance(label, bool | str) else object for label in present}) > 1:
        raise ValueError("Unknown label type: labels in y are of several types; make them text")
    occurring = sorted(set(present))
    if any(isinstance(label, float) and not label.is_integer() for label in occurring):
        raise ValueError("Unknown label type: continuous. Labels are text or whole numbers")
    if len(occurring) < 2:
        raise ValueError('classes="public": y holds one class or none, and a classifier needs two')
    return occurring


def labels_of(domain: Domain, labels: pl.Series | NDArray[Any]) -> NDArray[Any]:
    """Name the classes of a domain as y does: by numbers if every class is one and y holds numbers or has no type."""
    for kind in UNTYPED if _untyped(labels) else [kind_of(series_of(labels, "y").dtype)]:
        if kind in NUMBERED and len(numbers := value_keys(domain.classes, kind)) == len(domain.classes):
            return np.array(list(numbers))
    return np.array(domain.classes)


try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.exceptions import DataConversionWarning
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import check_is_fitted, validate_data
except ModuleNotFoundError as error:
    raise ImportError(
        "dpnb_columnar.sklearn needs scikit-learn, which is not installed: pip install 'dpnb-columnar[sklearn]'"
    ) from error

logger = logging.getLogger(__name__)

PUBLIC = "public"
"""Value of ``classes`` where it is public knowledge which labels occur in y."""


class SmoothNaiveBayes(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Differentially private naive Bayes: what ``dpnb_columnar.train`` does, on arrays and frames.

    EVERY ``fit`` SPENDS ITS EPSILON ANEW. k-fold cross-validation fits k times, a grid search k times for every
    candidate and once more: all these epsilons add up. With a ``ledger`` each fit is charged there, to ``account`` or
    to "SmoothNaiveBayes", and one that its limit does not allow is refused before a row is counted. What scorers return
    is computed from the rows without noise, so it is confidential. Tune on public or simulated rows. Each fit logs what
    it spent (logger ``dpnb_columnar.sklearn``, level INFO).

    Bounds, categories and classes are public facts, declared here and never taken from the data. Numbers beyond the
    bounds count as the nearest bound. A row whose label is not declared does not count in ``fit``. NaN, None, or a
    category that is not declared leaves its attribute out of this row, in ``fit`` as in ``predict``, unless ``domain``
    declares another meaning. No error or warning says so.
    What ``fit`` does say is about column names, types and dimensions, and whether X and y are equally long; with
    ``classes="public"``, also which labels there are.

    The columns of an array or a frame keep their type, which counts as public. A list, and a column of type ``object``
    or of pandas' texts and categories, has none: each of its values is read by itself, so that no other row changes how
    it counts. A number matches by its value (1 is 1.0), a text by its text, True and False are "true" and "false" (in a
    numeric column 1 and 0), None and NaN are missing, and so is anything else. Columns without names are called x0, x1,
    and so on.

    Arguments that are not listed are those of ``dpnb_columnar.train``.

    Args:
        epsilon: Privacy budget of one fit: a number, a Fraction, or text such as "1/3". 0.1 is one tenth, exactly.
        unit_rows: The most rows of one group of ``fit``'s ``groups`` that count, such as of a household: the guarantee
            is then for one whole group. None for what the domain declares, else 1 where groups are given.
        bounds: (lower, upper) or (lower, upper, step) of all columns that are not categorical, or a mapping of column
            names or positions to such. Without a step a column gets 2**16 of them.
        categories: Mapping of column names or positions to lists of values; these columns are categorical.
        classes: The labels, at least two; or "public": which labels occur in y is public knowledge.
        domain: A whole Domain, for missing values, transforms and the like, in place of bounds, categories and classes.
            Columns of X that it does not name are left out; y holds its label's column, or, where its label is a
            condition, the names of its classes.
        random_state: None for noise from the operating system. A seed makes fits repeatable, and their models WITHOUT
            GUARANTEE: for tests only.

    Attributes:
        classes_: Shape (classes,), sorted: the labels, as declared, or as they stand in y. With ``domain``, the names
            of its classes, or numbers where the type of y is one of numbers; or where y has no type and they all are
            numbers.
        n_features_in_: Number of columns.
        feature_names_in_: Their names, if they are text.
        model_: The released ``dpnb_columnar.api.model.Model``; save it, show it, score files with it.
        private_: Whether it carries a guarantee: not with a ``random_state`` or with mechanism ``none``.
        epsilon_spent_: Exact epsilon of the last fit, a Fraction; None where ``private_`` is False.
        delta_spent_: Exact delta of the last fit, likewise.

    Examples:
        >>> from dpnb_columnar.sklearn import SmoothNaiveBayes
        >>> X, y = [[x % 10] for x in range(1000)], [x % 10 > 4 for x in range(1000)]
        >>> classifier = SmoothNaiveBayes(epsilon=1, bounds=(0, 9, 1), classes=[False, True], random_state=0)
        >>> classifier.fit(X, y).predict([[0], [9]])
        array([False,  True])
        >>> classifier.private_  # with random_state=None it is True, and each fit spends its epsilon
        False
    """

    def __init__(
        self,
        *,
        epsilon: Any = 1.0,
        delta: Any = 0,
        mechanism: MechanismName = "auto",
        noise: NoiseName | None = None,
        attribute_weights: AttributeWeights = "auto",
        neighbours: NeighboursName = "add-remove",
        unit_rows: int | None = None,
        bounds: Any = None,
        categories: Any = None,
        classes: Any = None,
        domain: Domain | None = None,
        ledger: str | PathLike[str] | None = None,
        account: str | None = None,
        witness: str | PathLike[str] | None = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.mechanism = mechanism
        self.noise = noise
        self.attribute_weights = attribute_weights
        self.neighbours = neighbours
        self.unit_rows = unit_rows
        self.bounds = bounds
        self.categories = categories
        self.classes = classes
        self.domain = domain
        self.ledger = ledger
        self.account = account
        self.witness = witness
        self.random_state = random_state

    def fit(self, X: Any, y: Any, groups: Any = None) -> SmoothNaiveBayes:
        """Release a model from these rows; see the class for what is counted and what is spent.

        Args:
            X: Shape (rows, columns): array, list of lists, pandas, Polars or Arrow table. Confidential.
            y: Shape (rows,): labels. Confidential.
            groups: Shape (rows,): the group of each row, such as its household, that the guarantee is for in place of
                one row; a row whose group is missing does not count. None for a guarantee for one row. Confidential.

        Raises:
            ValueError: if a declaration is missing or faulty, or does not fit the columns, or if a unit is declared and
                there are no groups.
            TypeError: if X is sparse, or a lazy frame.
        """
        with _as_value_errors(), confined():
            table = table_of(X)
            validate_data(self, table, y, skip_check_array=True)
            labels = _one_dimensional(y)
            units = [] if groups is None else [_one_dimensional(groups, "groups")]
            for name, values in zip(["y", "groups"], [labels, *units], strict=False):
                if len(values) != len(table):
                    raise ValueError(f"X and {name} are not equally long")
            names = self._column_names = self._names()
            domain, classes = self._declared(names, labels)
            domain = by_groups(domain, self.unit_rows, given=groups is not None)
            budget = Terms(delta=self.delta, neighbours=self.neighbours).budget(self.epsilon)
            planned = planned_release(
                domain, budget, self.mechanism, self.noise, self.attribute_weights, declared=self.domain
            )
            (column,) = domain.label.columns
            beside = [series_of(labels, column)]
            if domain.unit is not None:
                beside += [series_of(values, name) for name, values in zip(domain.unit.columns, units, strict=True)]
            frame = frame_of(table, names, domain, *beside)
            draw = None
            if self.random_state is not None:
                seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
                draw = ExactSampler(SeededBits(int(seed)))
            if self.ledger is not None and draw is not None:
                raise ValueError("random_state: makes models without guarantee, which no ledger pays for; leave it out")
            payment = payment_of(planned, (), Charged(ledger=self.ledger, account=self.account, witness=self.witness))
            self.model_ = Model.of(carry_out(planned, FrameInput(frame), payment, draw=draw))
        order = np.argsort(classes, kind="stable")
        self.classes_ = classes[order]
        self._class_names = [domain.classes[position] for position in order]
        self._note_spent(self.model_)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable class of every row, as ``Model.predict`` does.

        Args:
            X: Shape (rows, columns): array, list of lists, pandas, Polars or Arrow table. Confidential.

        Returns:
            Shape (rows,), of the type of ``classes_``.
        """
        predicted = self._scores(X)[PREDICTED]
        codes = predicted.cast(pl.Enum(self._class_names)).to_physical().to_numpy()
        labels: NDArray[Any] = self.classes_[codes]
        return labels

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Compute the probability of every class, as ``Model.predict`` does.

        Args:
            X: Shape (rows, columns): array, list of lists, pandas, Polars or Arrow table. Confidential.

        Returns:
            Shape (rows, classes), in the order of ``classes_``; every row adds up to 1.
        """
        scores = self._scores(X)
        return scores.select(probability_column(name) for name in self._class_names).to_numpy()

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Compute the logarithm of ``predict_proba``; minus infinity where a probability is too small for a float."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that missing values, categories and text are accepted, and that fits are random."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.non_deterministic = self.random_state is None
        return tags

    def _names(self) -> list[str]:
        """Name all columns of X."""
        names = getattr(self, "feature_names_in_", None)
        if names is not None:
            return [str(name) for name in names]
        if self.domain is not None and len(self.domain.attributes) == self.n_features_in_:
            return [attribute.name for attribute in self.domain.attributes]
        return [f"x{position}" for position in range(self.n_features_in_)]

    def _declared(self, names: Sequence[str], labels: Any) -> tuple[Domain, NDArray[Any]]:
        """Return the domain, and the labels that its classes stand for, in the order of its classes."""
        if self.domain is not None:
            if not (self.bounds is None and self.categories is None and self.classes is None):
                raise ValueError("domain: leave bounds, categories and classes out, or leave domain out")
            domain = labelled_by_y(self.domain)
            return domain, labels_of(domain, labels)
        if isinstance(self.classes, str) and self.classes == PUBLIC:
            classes = np.array(distinct(labels))
        elif isinstance(self.classes, Sequence | np.ndarray) and not isinstance(self.classes, str):
            classes = np.array(list(self.classes))
        else:
            raise ValueError(
                f"classes: expected a list of labels, found {self.classes!r:.80}. Give them as a codebook has them, or "
                '"public" where it is public which labels occur in y'
            )
        return declared_domain(names, self.bounds, self.categories, classes.tolist()), classes

    def _scores(self, X: Any) -> pl.DataFrame:
        """Score every row with ``Model.predict``."""
        check_is_fitted(self)
        with _as_value_errors(), confined():
            table = table_of(X)
            validate_data(self, table, skip_check_array=True, reset=False)
            return self.model_.predict(frame_of(table, self._column_names, self.model_.domain))

    def _note_spent(self, model: Model) -> None:
        guarantee = model.guarantee
        self.private_ = guarantee.private
        self.epsilon_spent_ = guarantee.epsilon if guarantee.private else None
        self.delta_spent_ = guarantee.delta if guarantee.private else None
        if self.epsilon_spent_ is None or self.delta_spent_ is None:
            logger.info("fit made a model WITHOUT GUARANTEE: it has a random_state, or its mechanism is none")
        else:
            spent = f"epsilon {number_text(self.epsilon_spent_)}, delta {number_text(self.delta_spent_)}"
            logger.info("fit spent %s of the rows' privacy budget (%s neighbours)", spent, guarantee.neighbours)


def _one_dimensional(y: Any, name: str = "y") -> Any:
    """Return the labels, or what else there is one of per row, as a Polars series or an array."""
    if isinstance(y, list | tuple):  # a label in a list of its own is that label
        y = [label[0] if isinstance(label, list | tuple) and len(label) == 1 else label for label in y]
    labels = plain(y)
    if isinstance(labels, pl.Series):
        return labels
    labels = array_of(labels, name)
    if labels.ndim == 2 and labels.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected; use y.ravel()",
            DataConversionWarning,
            stacklevel=3,
        )
        labels = labels.ravel()
    if labels.ndim != 1:
        raise ValueError(f"{name} should be a 1d array, got one of {labels.ndim} dimensions")
    return labels


@contextmanager
def _as_value_errors() -> Iterator[None]:
    """Raise errors of this package as the ValueError that scikit-learn expects, the error itself as its cause."""
    try:
        yield
    except Error as error:
        raise ValueError(str(error)) from error
