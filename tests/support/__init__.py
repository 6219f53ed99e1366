"""What tests of several files share; ``tests`` is on the import path, so it is imported as ``support.people``.

The folders of tests mirror the rooms of the package. Four go across rooms (``project/test_mutants.py``).
Fixtures are in ``conftest.py``, of the folder that uses them; helpers of one file stay in it.

Which tests a run is about is decided by ``tiers.py``, by what they took before: ``durations.py``.
A test is marked slow if it takes half a second or more, which counts until it is measured.
Tests of an ``xdist_group`` run in one process, since they share a server or a session of Spark, and are slow as well.
Tests in several processes are handed out by module, the longest first: see ``scheduling.py``.
"""
