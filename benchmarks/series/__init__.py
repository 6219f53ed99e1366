"""What is measured, series by series: each gives its points for a scale."""

from collections.abc import Callable, Iterator, Mapping

from benchmarks.points import Point
from benchmarks.series.growth import floats, growth
from benchmarks.series.ingesting import ingest
from benchmarks.series.predicting import predict
from benchmarks.series.releasing import release, search
from benchmarks.series.scale import FULL, QUICK, Places, Scale
from benchmarks.series.starting import start
from benchmarks.series.steps import steps
from benchmarks.series.training import train

__all__ = ["FULL", "QUICK", "SERIES", "Places", "Scale"]

SERIES: Mapping[str, Callable[[Scale, Places], Iterator[Point]]] = {
    "start": start,
    "train": train,
    "steps": steps,
    "predict": predict,
    "ingest": ingest,
    "release": release,
    "search": search,
    "floats": floats,
    "growth": growth,
}
"""Every series by its name, in the order of the document."""
