"""Settings of Spark that counting depends on, and those that keep exact counts from being shown."""

from __future__ import annotations

from collections.abc import Mapping

EXACT: Mapping[str, str] = {
    "spark.sql.caseSensitive": "true",
    "spark.sql.ansi.enabled": "true",  # decimals have a text without exponents
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.ansi.enforceReservedKeywords": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
    "spark.sql.variable.substitute": "false",
    "spark.sql.runSQLOnFiles": "false",  # a path as the name of a table would go round every check of files
    "spark.sql.legacy.charVarcharAsString": "true",  # as they are stored, without padding
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.parquet.binaryAsString": "false",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.fieldId.read.enabled": "false",
    "spark.sql.parquet.filterPushdown": "false",  # extremes in footers are wrong for NaN in files of some writers
    "spark.sql.parquet.mergeSchema": "false",
    "spark.sql.optimizer.excludedRules": "",
}
"""What the same integers as everywhere else depend on, whatever the cluster's defaults are."""

UNSEEN: Mapping[str, str] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.eventLog.enabled": "false",
    "spark.log.level": "OFF",
}
"""What a session of ours shows to nobody: its web pages and its event log hold numbers of rows."""

UNLESS_SET: Mapping[str, str] = {
    "spark.app.name": "dpnb-columnar",
    "spark.io.encryption.enabled": "true",  # files of a shuffle hold exact counts
    "spark.executor.defaultJavaOptions": "-XX:-DontCompileHugeMethods",  # a domain of many columns is one
}
"""What a session of ours has unless the user's configuration of Spark says otherwise."""
