import type { DatabaseSync } from "node:sqlite"

/** "WIRE": tells our databases from those of other programs. */
export const applicationId = 0x57495245

/**
 * Step n leads from version n to n + 1 (`PRAGMA user_version`). Steps that have been released are never edited.
 *
 * In plain text: run ids, names of callers and workflows, times, counts and sizes. Everything else is sealed or a keyed hash.
 */
export const migrations: readonly string[] = [
  `
  CREATE TABLE store (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    mark BLOB NOT NULL
  ) STRICT;

  -- AUTOINCREMENT: a number is never given twice, for events may outlive their run by a moment.
  CREATE TABLE runs (
    num INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id TEXT NOT NULL UNIQUE,
    caller TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    finished_at INTEGER,
    resumable INTEGER NOT NULL,
    cancel_requested INTEGER NOT NULL DEFAULT 0,
    fence INTEGER NOT NULL,
    owner TEXT,
    holder TEXT,
    lease_until INTEGER NOT NULL,
    idempotency BLOB,
    fingerprint BLOB,
    key BLOB NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX runs_by_key ON runs (idempotency) WHERE idempotency IS NOT NULL;
  CREATE INDEX runs_unfinished ON runs (lease_until) WHERE finished_at IS NULL;
  CREATE INDEX runs_finished ON runs (finished_at) WHERE finished_at IS NOT NULL;

  CREATE TABLE requests (run INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT;
  CREATE TABLE secrets (run INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT;

  -- One row an append. Rows of all runs stand in the order in which they were written, so that a transaction fills pages
  -- one after the other, however many runs write.
  CREATE TABLE events (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    last INTEGER NOT NULL,
    body BLOB NOT NULL,
    kept BLOB
  ) STRICT;
  CREATE UNIQUE INDEX events_of_run ON events (run, last);

  CREATE TABLE tombstones (run_id TEXT PRIMARY KEY, caller TEXT NOT NULL, until INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE INDEX tombstones_by_age ON tombstones (until);

  CREATE TABLE cache (
    entry BLOB PRIMARY KEY,
    slot BLOB NOT NULL,
    expires_at INTEGER NOT NULL,
    body BLOB NOT NULL
  ) STRICT;
  CREATE INDEX cache_of_slot ON cache (slot);
  CREATE INDEX cache_by_age ON cache (expires_at);
  `,
  `
  -- Runs that retention has deleted, but not yet all of their events.
  CREATE TABLE leftovers (run INTEGER PRIMARY KEY) STRICT;
  -- So that looking for cancel requests of other processes touches only runs that are to stop.
  CREATE INDEX runs_cancelling ON runs (run_id) WHERE cancel_requested = 1 AND finished_at IS NULL;
  `,
  `
  -- Of a run whose log cannot be read: its last event, sealed, which is all that its log still is.
  ALTER TABLE runs ADD COLUMN condemned BLOB;
  `,
  `
  -- The list of runs: which workflow of the server's folder it was, how it ended, and the JSON of its usage so far.
  ALTER TABLE runs ADD COLUMN workflow TEXT;
  ALTER TABLE runs ADD COLUMN version TEXT;
  ALTER TABLE runs ADD COLUMN outcome TEXT;
  ALTER TABLE runs ADD COLUMN usage TEXT;
  CREATE INDEX runs_listed ON runs (caller, created_at, run_id);
  CREATE INDEX runs_listed_by_workflow ON runs (caller, workflow, created_at, run_id);
  CREATE INDEX runs_listed_open ON runs (caller, created_at, run_id) WHERE finished_at IS NULL;
  `,
  `
  -- Questions to people, in the order in which they were asked. The addressee is a keyed hash; question and answer are sealed.
  -- status: 0 open, 1 answered, 2 expired, 3 withdrawn. taken: the log shows the outcome.
  CREATE TABLE questions (
    num INTEGER PRIMARY KEY AUTOINCREMENT,
    run INTEGER NOT NULL,
    id TEXT NOT NULL,
    caller TEXT NOT NULL,
    addressee BLOB,
    expires_at INTEGER NOT NULL,
    status INTEGER NOT NULL DEFAULT 0,
    taken INTEGER NOT NULL DEFAULT 0,
    answered_at INTEGER,
    body BLOB NOT NULL,
    answer BLOB
  ) STRICT;
  CREATE UNIQUE INDEX questions_of_run ON questions (run, id);
  CREATE INDEX questions_of_caller ON questions (caller, status, num);
  CREATE INDEX questions_to_addressee ON questions (addressee, status, num) WHERE addressee IS NOT NULL;
  CREATE INDEX questions_due ON questions (expires_at) WHERE status = 0;
  CREATE INDEX questions_outcomes ON questions (run) WHERE status <> 0 AND taken = 0;

  -- A parked run waits for people. It is in no index that claims read; woken_at is set from its wake on until it is claimed.
  ALTER TABLE runs ADD COLUMN waiting INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE runs ADD COLUMN woken_at INTEGER;
  DROP INDEX runs_unfinished;
  CREATE INDEX runs_claimable ON runs (lease_until) WHERE finished_at IS NULL AND waiting = 0;
  CREATE INDEX runs_waiting ON runs (caller) WHERE waiting = 1;
  CREATE INDEX runs_woken ON runs (woken_at) WHERE woken_at IS NOT NULL;
  `,
  `
  -- Of a run that notifies: the sealed URL, and the names of the events that it notifies of, with spaces around each.
  ALTER TABLE runs ADD COLUMN notify BLOB;
  ALTER TABLE runs ADD COLUMN notify_events TEXT;
  -- Notices, until they are delivered or given up, and after that as long as their run is kept. URL and error are sealed.
  CREATE TABLE outbox (
    run_id TEXT NOT NULL,
    event_id INTEGER NOT NULL,
    caller TEXT NOT NULL,
    event TEXT NOT NULL,
    caused_at INTEGER NOT NULL,
    status TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    due_at INTEGER NOT NULL,
    url BLOB NOT NULL,
    last_error BLOB,
    PRIMARY KEY (run_id, event_id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX outbox_due ON outbox (due_at) WHERE status = 'pending';
  `,
  `
  -- While the master key is changed: the mark of the key before. And the key of digests, wrapped, once the master key was changed.
  ALTER TABLE store ADD COLUMN old_mark BLOB;
  ALTER TABLE store ADD COLUMN digest BLOB;
  `,
  `
  -- A keyed hash of the URL's origin, so that deliveries to one receiver can be counted.
  ALTER TABLE runs ADD COLUMN notify_receiver TEXT;
  ALTER TABLE outbox ADD COLUMN receiver TEXT;
  `,
  `
  -- Most runs have no name, and need no place in the index of names.
  DROP INDEX runs_listed_by_workflow;
  CREATE INDEX runs_listed_by_workflow ON runs (caller, workflow, created_at, run_id) WHERE workflow IS NOT NULL;
  `,
  `
  -- From here on a row of events may hold, after them, what was kept beside them. Releases before cannot read that.
  `,
  `
  -- Sealed secrets of a run, if they are short: its end changes its row anyway. Longer ones, and those of older releases, are in the table of that name.
  -- From here on the first row of a run's events may hold its request as well.
  ALTER TABLE runs ADD COLUMN secrets BLOB;
  -- Few runs are open and do not wait: those that claims read are all of them, and need no place in another index.
  DROP INDEX runs_listed_open;
  DROP INDEX runs_waiting;
  CREATE INDEX runs_waiting ON runs (caller, created_at, run_id) WHERE waiting = 1;
  `,
  `
  -- Callers of one receiver take turns, so their notices are found without reading those of others.
  UPDATE outbox SET receiver = '' WHERE receiver IS NULL;
  CREATE INDEX outbox_turns ON outbox (receiver, caller, due_at) WHERE status = 'pending';
  `,
  `
  -- From here on the key of a run is bound to its caller. Releases before cannot open it.
  `,
  `
  -- What each caller's ended and waiting runs take, and each of them. Runs of releases before count for nothing.
  ALTER TABLE runs ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
  CREATE TABLE stored (caller TEXT PRIMARY KEY, bytes INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  `,
]

export const currentVersion = migrations.length

/** Brings a database of any version to the current one and fills it, in one transaction. */
export function migrate(
  database: DatabaseSync,
  steps: readonly string[] = migrations,
  fill: () => void = () => undefined,
): void {
  database.exec("BEGIN IMMEDIATE")
  try {
    // Read inside of the transaction: another process may have migrated in the meantime.
    const version = readNumber(database, "PRAGMA user_version")
    for (const step of steps.slice(version)) database.exec(step)
    if (version < steps.length) {
      database.exec(`PRAGMA user_version = ${steps.length}; PRAGMA application_id = ${applicationId}`)
    }
    fill()
    database.exec("COMMIT")
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK")
    throw error
  }
}

/** The one number that a query answers. */
export function readNumber(database: DatabaseSync, query: string): number {
  const row = database.prepare(query).get()
  const value = Object.values(row ?? {})[0]
  if (typeof value !== "number") throw new Error(`${query} gave no number`)
  return value
}
