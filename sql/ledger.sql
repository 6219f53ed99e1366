-- The ledger: what was spent on which data set, one entry after another. Public facts and amounts only, unless an account
-- is bound to digests of its data.
--
-- Amounts are exact text: decimals, or "1/3". Parameters are named, :like_this.

-- name: session
-- EXTRA, not FULL: after a commit FULL does not synchronise the folder from which the journal was taken away. After a
-- power cut the journal could be back, and roll a spend back whose noise has long been drawn.
PRAGMA trusted_schema = OFF;
PRAGMA cell_size_check = ON;
PRAGMA recursive_triggers = ON;
PRAGMA temp_store = MEMORY;
PRAGMA synchronous = EXTRA;
PRAGMA fullfsync = ON;

-- name: application
PRAGMA application_id

-- name: version
PRAGMA user_version

-- name: journal
-- Returns the journal mode: delete. A write-ahead log would be two more files to keep together with the ledger.
PRAGMA journal_mode = DELETE

-- name: schema
-- One row of `entry` is an account (its limit and relation), a spend (the cost of one release, and the totals of its data
-- set after it), a model (the digest of what a run released) or a witness (its path). `digest` is that of the row and of all rows before it.
-- A new ledger is unfinished until it is renamed: a run that is killed before leaves no journal beside it.
PRAGMA journal_mode = MEMORY;
PRAGMA application_id = 1685089890;
PRAGMA user_version = 1;
CREATE TABLE entry (
    number INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    time TEXT NOT NULL,
    version TEXT NOT NULL,
    dataset TEXT,
    run TEXT,
    neighbours TEXT,
    epsilon TEXT,
    delta TEXT,
    rho TEXT,
    mechanism TEXT,
    noise TEXT,
    inputs TEXT,
    inputs_digest TEXT,
    total_epsilon TEXT,
    total_delta TEXT,
    total_rho TEXT,
    parts TEXT,
    model_digest TEXT,
    digest TEXT NOT NULL
);
CREATE TABLE document (
    run TEXT PRIMARY KEY,
    document TEXT NOT NULL
);
CREATE UNIQUE INDEX account_of_dataset ON entry (dataset) WHERE kind = 'account';
CREATE INDEX spends_of_dataset ON entry (dataset, number) WHERE kind = 'spend';
CREATE UNIQUE INDEX spend_of_run ON entry (run) WHERE kind = 'spend';
CREATE UNIQUE INDEX model_of_run ON entry (run) WHERE kind = 'model';
CREATE TRIGGER entries_follow_each_other BEFORE INSERT ON entry
WHEN NEW.number IS NOT (SELECT coalesce(max(number), 0) + 1 FROM entry)
BEGIN SELECT raise(ABORT, 'entries of a ledger follow each other'); END;
CREATE TRIGGER entries_never_change BEFORE UPDATE ON entry
BEGIN SELECT raise(ABORT, 'entries of a ledger never change'); END;
CREATE TRIGGER entries_never_go BEFORE DELETE ON entry
BEGIN SELECT raise(ABORT, 'entries of a ledger never go'); END;
CREATE TRIGGER documents_are_kept_once BEFORE INSERT ON document
WHEN EXISTS (SELECT 1 FROM document WHERE run = NEW.run)
BEGIN SELECT raise(ABORT, 'a run has one document'); END;
CREATE TRIGGER documents_never_change BEFORE UPDATE ON document
BEGIN SELECT raise(ABORT, 'documents of a ledger never change'); END;
CREATE TRIGGER documents_never_go BEFORE DELETE ON document
BEGIN SELECT raise(ABORT, 'documents of a ledger never go'); END;

-- name: objects
-- Returns what the file defines: type, name, table, text.
SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name

-- name: columns
number, kind, time, version, dataset, run, neighbours, epsilon, delta, rho, mechanism, noise, inputs, inputs_digest,
total_epsilon, total_delta, total_rho, parts, model_digest, digest

-- name: entry
-- Returns the entry of a number. Parameter: number.
SELECT @columns FROM entry WHERE number = :number

-- name: first
-- Returns the entry of the lowest number, which is 1 unless somebody forged one.
SELECT @columns FROM entry ORDER BY number LIMIT 1

-- name: last
-- Returns the last entry.
SELECT @columns FROM entry ORDER BY number DESC LIMIT 1

-- name: last_but_witness
-- Returns the last entry that records no witness.
SELECT @columns FROM entry WHERE kind <> 'witness' ORDER BY number DESC LIMIT 1

-- name: witness
-- Returns the last entry that records a witness.
SELECT @columns FROM entry WHERE kind = 'witness' ORDER BY number DESC LIMIT 1

-- name: following
-- Returns the entries after a number, in order. Parameters: number, most.
SELECT @columns FROM entry WHERE number > :number ORDER BY number LIMIT :most

-- name: spends_following
-- Returns the spends after a number, in order. Parameters: number, most.
SELECT @columns FROM entry WHERE number > :number AND kind = 'spend' ORDER BY number LIMIT :most

-- name: account
-- Returns the account of a data set. Parameter: dataset.
SELECT @columns FROM entry WHERE kind = 'account' AND dataset = :dataset

-- name: datasets
-- Returns the names of data sets that have an account. Parameter: most.
SELECT dataset FROM entry WHERE kind = 'account' ORDER BY number LIMIT :most

-- name: last_spend
-- Returns the last spend of a data set. Parameter: dataset.
SELECT @columns FROM entry WHERE kind = 'spend' AND dataset = :dataset ORDER BY number DESC LIMIT 1

-- name: last_spend_before
-- Returns the last spend of a data set up to a number. Parameters: dataset, number.
SELECT @columns FROM entry WHERE kind = 'spend' AND dataset = :dataset AND number <= :number
ORDER BY number DESC LIMIT 1

-- name: spend
-- Returns the spend of a run. Parameter: run.
SELECT @columns FROM entry WHERE kind = 'spend' AND run = :run

-- name: model
-- Returns the model entry of a run. Parameter: run.
SELECT @columns FROM entry WHERE kind = 'model' AND run = :run

-- name: model_of_digest
-- Returns the model entry of a document. Parameter: digest.
SELECT @columns FROM entry WHERE kind = 'model' AND model_digest = :digest ORDER BY number LIMIT 1

-- name: number_of_spend
-- Returns the number of the spend of a run. Parameter: run.
SELECT number FROM entry WHERE kind = 'spend' AND run = :run

-- name: document
-- Returns the document that a run released. Parameter: run.
SELECT document FROM document WHERE run = :run

-- name: unlisted_document
-- Returns a run that has a document and no model entry.
SELECT run FROM document
WHERE NOT EXISTS (SELECT 1 FROM entry WHERE kind = 'model' AND entry.run = document.run)
LIMIT 1

-- name: integrity
-- Returns "ok", or what is wrong with how entries and their indices are stored: a run that was charged twice, too.
PRAGMA integrity_check(entry)

-- name: append
-- Parameters: every column.
INSERT INTO entry (@columns)
VALUES (
    :number, :kind, :time, :version, :dataset, :run, :neighbours, :epsilon, :delta, :rho, :mechanism, :noise, :inputs,
    :inputs_digest, :total_epsilon, :total_delta, :total_rho, :parts, :model_digest, :digest
)

-- name: keep
-- Parameters: run, document.
INSERT INTO document (run, document) VALUES (:run, :document)
