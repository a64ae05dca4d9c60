/**
 * The first step makes the tables of a new database; each later one leads from one format to the next. Steps that have been released are
 * never edited. They are written for SQLite; adapters for other databases translate them.
 *
 * In plain text: run ids, names of callers, workflows and triggers, ids of models, deliveries and traces, cron expressions, times, counts, sizes, how runs ended, and names and counts of scores. Everything else is sealed or a keyed hash.
 */
export const migrations: readonly string[] = [
  `
  -- The mark of the master key, and the keys of the store, which it has wrapped.
  CREATE TABLE store (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    mark BLOB NOT NULL,
    ring BLOB NOT NULL
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
    -- Bound to the caller.
    key BLOB NOT NULL,
    -- Of a run whose log cannot be read: its last event, sealed, which is all that its log still is.
    condemned BLOB,
    -- The list of runs: which workflow of the server's folder it was, how it ended, and the JSON of its usage so far.
    workflow TEXT,
    version TEXT,
    outcome TEXT,
    usage TEXT,
    -- A parked run waits for an outcome. It is in no index that claims read; woken_at is set from its wake on until it is claimed.
    waiting INTEGER NOT NULL DEFAULT 0,
    woken_at INTEGER,
    -- Of a run that notifies: the sealed URL, the names of the events that it notifies of with spaces around each, and a keyed hash of
    -- the URL's origin, so that deliveries to one receiver can be counted.
    notify BLOB,
    notify_events TEXT,
    notify_receiver TEXT,
    -- What it takes, once it has ended or waits.
    bytes INTEGER NOT NULL DEFAULT 0,
    -- The kind of error that a failed run ended with.
    error_kind TEXT,
    -- JSON of the schedule or webhook that started the run; null where a caller did.
    started_by TEXT,
    -- JSON of the schedule that remembers its output.
    keeper TEXT,
    -- Sealed: what a list shows of its request, and of how it ended.
    preview BLOB,
    end_preview BLOB
  ) STRICT;
  CREATE UNIQUE INDEX runs_by_key ON runs (idempotency) WHERE idempotency IS NOT NULL;
  -- Few runs are open and do not wait: those that claims read are all of them, and need no other index.
  CREATE INDEX runs_claimable ON runs (lease_until) WHERE finished_at IS NULL AND waiting = 0;
  CREATE INDEX runs_finished ON runs (finished_at) WHERE finished_at IS NOT NULL;
  -- So that looking for cancel requests of other processes touches only runs that are to stop.
  CREATE INDEX runs_cancelling ON runs (run_id) WHERE cancel_requested = 1 AND finished_at IS NULL;
  CREATE INDEX runs_listed ON runs (caller, created_at, run_id);
  CREATE INDEX runs_listed_by_workflow ON runs (caller, workflow, created_at, run_id) WHERE workflow IS NOT NULL;
  CREATE INDEX runs_waiting ON runs (caller, created_at, run_id) WHERE waiting = 1;
  CREATE INDEX runs_woken ON runs (woken_at) WHERE woken_at IS NOT NULL;
  -- Most runs end well: a list of the others must not look at all of them.
  CREATE INDEX runs_unsuccessful ON runs (caller, outcome, created_at, run_id) WHERE outcome <> 'completed';

  -- Those that are not sealed with the first events of their run.
  CREATE TABLE requests (run INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT;
  -- Sealed under a key of their own. It is in a place that the end of the run overwrites with zeros. Rows of places are only added, and never change their size: SQLite
  -- overwrites them where they are, and moves none to another page, which would leave a copy behind.
  CREATE TABLE secrets (run INTEGER PRIMARY KEY, place INTEGER NOT NULL, body BLOB NOT NULL) STRICT;
  CREATE TABLE secret_keys (place INTEGER PRIMARY KEY, taken INTEGER NOT NULL, key BLOB NOT NULL) STRICT;
  CREATE INDEX secret_keys_free ON secret_keys (place) WHERE taken = 0;

  -- One row an append, in the order in which they were written, so that a transaction fills pages one after the other, however many
  -- runs write. A row holds, after its events, what was kept beside them, if it is short; the first one may hold the request.
  CREATE TABLE events (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    last INTEGER NOT NULL,
    body BLOB NOT NULL,
    kept BLOB
  ) STRICT;
  CREATE UNIQUE INDEX events_of_run ON events (run, last);

  -- Runs that retention has deleted, but not yet all of their events.
  CREATE TABLE leftovers (run INTEGER PRIMARY KEY) STRICT;
  CREATE TABLE tombstones (run_id TEXT PRIMARY KEY, caller TEXT NOT NULL, until INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE INDEX tombstones_by_age ON tombstones (until);

  -- What each caller's ended and waiting runs take.
  CREATE TABLE stored (caller TEXT PRIMARY KEY, bytes INTEGER NOT NULL) STRICT, WITHOUT ROWID;

  CREATE TABLE cache (
    entry BLOB PRIMARY KEY,
    slot BLOB NOT NULL,
    expires_at INTEGER NOT NULL,
    body BLOB NOT NULL
  ) STRICT;
  CREATE INDEX cache_of_slot ON cache (slot);
  CREATE INDEX cache_by_age ON cache (expires_at);

  -- What runs wait for, in the order in which the waits were opened (ports/waits.ts). The key is a keyed hash, with the kind in it; what a wait is about and
  -- its outcome are sealed. status: 0 open, 1 settled, 2 due, 3 withdrawn. taken: the log shows the outcome.
  CREATE TABLE waits (
    num INTEGER PRIMARY KEY AUTOINCREMENT,
    run INTEGER NOT NULL,
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    caller TEXT NOT NULL,
    key BLOB,
    opened_at INTEGER NOT NULL,
    due_at INTEGER NOT NULL,
    status INTEGER NOT NULL DEFAULT 0,
    taken INTEGER NOT NULL DEFAULT 0,
    settled_at INTEGER,
    body BLOB NOT NULL,
    outcome BLOB
  ) STRICT;
  CREATE UNIQUE INDEX waits_of_run ON waits (run, id);
  CREATE INDEX waits_of_caller ON waits (caller, kind, status, num);
  CREATE INDEX waits_with_key ON waits (key, status, num) WHERE key IS NOT NULL;
  CREATE INDEX waits_due ON waits (due_at) WHERE status = 0;
  CREATE INDEX waits_open ON waits (kind, opened_at) WHERE status = 0;
  CREATE INDEX waits_outcomes ON waits (run) WHERE status <> 0 AND taken = 0;

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
    receiver TEXT,
    PRIMARY KEY (run_id, event_id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX outbox_due ON outbox (due_at) WHERE status = 'pending';
  -- Callers of one receiver take turns, so their notices are found without reading those of others.
  CREATE INDEX outbox_turns ON outbox (receiver, caller, due_at) WHERE status = 'pending';

  -- Idempotency keys that outlive their runs.
  CREATE TABLE kept_keys (
    idempotency BLOB PRIMARY KEY,
    fingerprint BLOB NOT NULL,
    run_id TEXT NOT NULL,
    until INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX kept_keys_by_age ON kept_keys (until);
  -- Marks of schedules and last outcomes: JSON of cron expressions, times, run ids and outcomes, with errors sealed.
  -- What each run has used in an hour since the epoch, by the id of a model (empty: the run itself). Costs are in billionths.
  CREATE TABLE ledger (
    run INTEGER NOT NULL,
    hour INTEGER NOT NULL,
    model TEXT NOT NULL,
    runs INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    cost INTEGER NOT NULL,
    PRIMARY KEY (run, hour, model)
  ) STRICT, WITHOUT ROWID;
  -- Sums of it, those of deleted runs included.
  CREATE TABLE spending (
    caller TEXT NOT NULL,
    hour INTEGER NOT NULL,
    workflow TEXT NOT NULL,
    model TEXT NOT NULL,
    until INTEGER NOT NULL,
    runs INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    cost INTEGER NOT NULL,
    PRIMARY KEY (caller, hour, workflow, model)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX spending_of_workflow ON spending (workflow, hour);
  CREATE INDEX spending_by_age ON spending (until);
  -- What processes hold of budgets, until a time.
  CREATE TABLE slices (
    account TEXT NOT NULL,
    start INTEGER NOT NULL,
    holder TEXT NOT NULL,
    amount INTEGER NOT NULL,
    until INTEGER NOT NULL,
    PRIMARY KEY (account, start, holder)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX slices_by_age ON slices (until);
  CREATE TABLE trigger_states (name TEXT PRIMARY KEY, revision INTEGER NOT NULL, state TEXT NOT NULL) STRICT;
  -- What schedules remember of the runs that completed last. Sealed; null for an output that was too long.
  CREATE TABLE kept_outputs (name TEXT PRIMARY KEY, run_id TEXT NOT NULL, due_at INTEGER NOT NULL, body BLOB) STRICT;
  CREATE TABLE trigger_pauses (name TEXT PRIMARY KEY, paused INTEGER NOT NULL, at INTEGER NOT NULL) STRICT;
  `,
  `
  -- Events that callers send (ports/event-store.ts). id, fingerprint and place are keyed hashes: of the sender's id, of the contents, and of name and key with whose
  -- waits may take it. status: 0 arriving, 1 kept, 2 over; the body is there until it is over. last_wait: the last wait that was there before it.
  CREATE TABLE sent_events (
    num INTEGER PRIMARY KEY AUTOINCREMENT,
    caller TEXT NOT NULL,
    id BLOB,
    fingerprint BLOB NOT NULL,
    place BLOB NOT NULL,
    status INTEGER NOT NULL,
    delivered INTEGER NOT NULL DEFAULT 0,
    was_kept INTEGER NOT NULL DEFAULT 0,
    last_wait INTEGER NOT NULL,
    received_at INTEGER NOT NULL,
    keep_until INTEGER,
    until INTEGER NOT NULL,
    body BLOB
  ) STRICT;
  CREATE UNIQUE INDEX sent_events_by_id ON sent_events (id) WHERE id IS NOT NULL;
  CREATE INDEX sent_events_of_caller ON sent_events (caller) WHERE id IS NOT NULL;
  CREATE INDEX sent_events_waiting ON sent_events (place, num) WHERE status <= 1;
  CREATE INDEX sent_events_kept ON sent_events (caller, num) WHERE status <= 1;
  CREATE INDEX sent_events_arriving ON sent_events (received_at) WHERE status = 0;
  CREATE INDEX sent_events_keeping ON sent_events (keep_until) WHERE status = 1;
  CREATE INDEX sent_events_by_age ON sent_events (until);
  `,
  `
  -- Versions of the workflows of the server's folder (ports/version-store.ts). The digest is a keyed hash of the full version; the body is sealed: paths, and the
  -- keyed hashes of their texts. A text is kept once for all versions that use it.
  CREATE TABLE versions (
    num INTEGER PRIMARY KEY AUTOINCREMENT,
    workflow TEXT NOT NULL,
    version TEXT NOT NULL,
    digest BLOB NOT NULL,
    first_served_at INTEGER NOT NULL,
    last_served_at INTEGER NOT NULL,
    withdrawn_at INTEGER,
    body BLOB NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX versions_of_workflow ON versions (workflow, version);
  CREATE TABLE version_texts (hash BLOB PRIMARY KEY, body BLOB NOT NULL) STRICT;
  CREATE TABLE version_uses (
    hash BLOB NOT NULL,
    workflow TEXT NOT NULL,
    version TEXT NOT NULL,
    PRIMARY KEY (hash, workflow, version)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX version_uses_of_version ON version_uses (workflow, version);
  -- What running processes find in their folders, and what they serve: JSON of versions by workflow.
  CREATE TABLE replicas (replica TEXT PRIMARY KEY, until INTEGER NOT NULL, files TEXT NOT NULL, served TEXT NOT NULL) STRICT;
  -- Workflows of which a kept version is served; files: JSON of the versions that the replicas had then.
  CREATE TABLE pins (workflow TEXT PRIMARY KEY, version TEXT NOT NULL, at INTEGER NOT NULL, files TEXT NOT NULL) STRICT;
  CREATE INDEX runs_of_version ON runs (workflow, version, caller) WHERE workflow IS NOT NULL;
  -- What started the run: request, schedule, webhook or rerun.
  ALTER TABLE runs ADD COLUMN origin TEXT NOT NULL DEFAULT 'request';
  UPDATE runs SET origin = CASE WHEN started_by LIKE '%"webhook"%' THEN 'webhook' ELSE 'schedule' END WHERE started_by IS NOT NULL;
  -- Ended runs for charts (ports/run-stats.ts), those that are deleted included; num is that of the run. It was made 400 days before "until".
  CREATE TABLE ended_runs (
    num INTEGER PRIMARY KEY,
    until INTEGER NOT NULL,
    caller TEXT NOT NULL,
    workflow TEXT,
    version TEXT,
    origin TEXT NOT NULL,
    outcome TEXT NOT NULL,
    error_kind TEXT,
    duration INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    cost INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX ended_runs_by_age ON ended_runs (until);
  -- What is done to many runs at once (ports/run-actions.ts). Plan and progress are sealed; due_at is null once it is completed.
  CREATE TABLE run_actions (
    id TEXT PRIMARY KEY,
    caller TEXT NOT NULL,
    by_operator INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    due_at INTEGER,
    until INTEGER NOT NULL,
    plan BLOB NOT NULL,
    progress BLOB NOT NULL
  ) STRICT;
  CREATE INDEX run_actions_due ON run_actions (due_at) WHERE due_at IS NOT NULL;
  CREATE INDEX run_actions_by_age ON run_actions (until);
  `,
  `
  -- Files (ports/file-store.ts). The contents are objects in another place, each named at random and encrypted with its own key, which is sealed here. content: a keyed
  -- hash of caller and contents; null once no file needs the object, which is deleted at gone_at.
  CREATE TABLE file_objects (
    num INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    caller TEXT NOT NULL,
    content BLOB,
    bytes INTEGER NOT NULL,
    gone_at INTEGER,
    key BLOB NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX file_objects_by_name ON file_objects (name);
  CREATE UNIQUE INDEX file_objects_by_content ON file_objects (content) WHERE content IS NOT NULL;
  CREATE INDEX file_objects_gone ON file_objects (gone_at) WHERE gone_at IS NOT NULL;
  -- slot: a keyed hash that finds the same file again. refs: rows of file_refs. Name, media type and hash are sealed.
  CREATE TABLE files (
    num INTEGER PRIMARY KEY AUTOINCREMENT,
    file_id TEXT NOT NULL,
    caller TEXT NOT NULL,
    object INTEGER NOT NULL,
    slot BLOB NOT NULL,
    refs INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    until INTEGER NOT NULL,
    body BLOB NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX files_by_id ON files (file_id);
  CREATE UNIQUE INDEX files_by_slot ON files (slot);
  CREATE INDEX files_of_caller ON files (caller, num);
  CREATE INDEX files_of_object ON files (object);
  CREATE INDEX files_by_age ON files (until) WHERE refs = 0;
  -- Which runs use a file. made: the step made it; else it is of the run's input.
  CREATE TABLE file_refs (
    run INTEGER NOT NULL,
    file INTEGER NOT NULL,
    made INTEGER NOT NULL,
    step TEXT NOT NULL,
    PRIMARY KEY (run, file, made, step)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX file_refs_of_file ON file_refs (file);
  CREATE TABLE file_totals (caller TEXT PRIMARY KEY, bytes INTEGER NOT NULL, files INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  `,
  `
  -- Sides of releases: current, candidate or shadow; of a shadow the run that it shadows, with which it is deleted.
  ALTER TABLE runs ADD COLUMN release TEXT;
  ALTER TABLE runs ADD COLUMN shadow_of TEXT;
  CREATE INDEX runs_shadows ON runs (shadow_of) WHERE shadow_of IS NOT NULL;
  `,
  `
  -- The version before, of a run that has moved to another one.
  ALTER TABLE runs ADD COLUMN moved_from TEXT;
  `,
  `
  -- Erasing (ports/erasure.ts). value: the keyed hash of what a run's input has at this path of the settings; empty where there is nothing.
  CREATE TABLE run_values (
    run INTEGER NOT NULL,
    path TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (run, path)
  ) STRICT, WITHOUT ROWID;
  -- The run whose results a re-run took over, which is erased with it.
  ALTER TABLE runs ADD COLUMN rerun_of TEXT;
  CREATE INDEX runs_reruns ON runs (rerun_of) WHERE rerun_of IS NOT NULL;
  -- When the run was erased. Its id stays.
  ALTER TABLE tombstones ADD COLUMN erased_at INTEGER;
  CREATE INDEX tombstones_erased ON tombstones (run_id) WHERE erased_at IS NOT NULL;
  `,
  `
  -- Scores (ports/scores.ts). scored: the run is judged once it has completed; score_due: when a process may begin with that; 0 for at once.
  ALTER TABLE runs ADD COLUMN scored INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE runs ADD COLUMN score_due INTEGER;
  CREATE INDEX runs_to_score ON runs (score_due) WHERE score_due IS NOT NULL;
  -- author: empty for a declared score, else "@" and the name of the caller. state: 0 a judge is asked, 1 shown, 2 in the record of its run alone, because it is made from
  -- private values. found_by: a keyed hash of name and value. counted: JSON of what the sums got of it. The score itself is sealed.
  CREATE TABLE run_scores (
    run INTEGER NOT NULL,
    name TEXT NOT NULL,
    author TEXT NOT NULL,
    state INTEGER NOT NULL,
    day INTEGER NOT NULL,
    cost INTEGER NOT NULL,
    found_by BLOB,
    counted TEXT,
    body BLOB,
    PRIMARY KEY (run, name, author)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX run_scores_by_match ON run_scores (found_by, run) WHERE found_by IS NOT NULL;
  -- How often a value was given, in plain text, without private ones and without texts by hand. value: JSON, or empty for numbers, of which there is the sum.
  CREATE TABLE score_sums (
    caller TEXT NOT NULL,
    workflow TEXT NOT NULL,
    name TEXT NOT NULL,
    day INTEGER NOT NULL,
    version TEXT NOT NULL,
    model TEXT NOT NULL,
    value TEXT NOT NULL,
    until INTEGER NOT NULL,
    count INTEGER NOT NULL,
    sum REAL NOT NULL,
    PRIMARY KEY (caller, workflow, name, day, version, model, value)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX score_sums_by_day ON score_sums (day);
  CREATE INDEX score_sums_by_age ON score_sums (until);
  -- What judges have cost on a day, in billionths.
  CREATE TABLE score_days (day INTEGER PRIMARY KEY, cost INTEGER NOT NULL, until INTEGER NOT NULL) STRICT;
  `,
  `
  -- The trace of the run's spans.
  ALTER TABLE runs ADD COLUMN trace_id TEXT;
  -- The side of a release.
  ALTER TABLE ended_runs ADD COLUMN release TEXT;
  `,
  `
  -- What shadows have cost on a day, in billionths.
  CREATE TABLE shadow_days (day INTEGER PRIMARY KEY, cost INTEGER NOT NULL, until INTEGER NOT NULL) STRICT;
  `,
  `
  -- private: the run has values that its file marks as private. redacted_at: when they were deleted, with all that it was given and made; how it ended stays.
  ALTER TABLE runs ADD COLUMN private INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE runs ADD COLUMN redacted_at INTEGER;
  CREATE INDEX runs_to_redact ON runs (finished_at) WHERE private = 1;
  `,
]
