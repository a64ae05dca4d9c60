import type { OutputKeeper } from "../ports/trigger-store.ts"
import type { PauseTriggerOperation, WriteTriggerOperation } from "./operations.ts"
import { get, run, type Row, type Steps } from "./sql.ts"

// Marks and pauses of triggers, and idempotency keys that outlive their runs: what is written of them.

export function* writeTrigger({ name, state, read }: WriteTriggerOperation): Steps<boolean> {
  const changes =
    read === null
      ? yield* run(
          "INSERT INTO trigger_states (name, revision, state) VALUES (?, 1, ?) ON CONFLICT (name) DO NOTHING",
          name,
          state,
        )
      : yield* run(
          "UPDATE trigger_states SET revision = revision + 1, state = ? WHERE name = ? AND revision = ?",
          state,
          name,
          read,
        )
  return changes > 0
}

export function* pauseTrigger({ name, paused, at }: PauseTriggerOperation): Steps<null> {
  yield* run(
    `INSERT INTO trigger_pauses (name, paused, at) VALUES (?, ?, ?)
     ON CONFLICT (name) DO UPDATE SET paused = excluded.paused, at = excluded.at`,
    name,
    paused ? 1 : 0,
    at,
  )
  return null
}

/** What a schedule remembers of a run that has completed. */
export function* keepOutput(num: number, { id, due_at }: OutputKeeper, body: Uint8Array | null): Steps<void> {
  yield* run(
    `INSERT INTO kept_outputs (name, run_id, due_at, body) SELECT ?2, run_id, ?3, ?4 FROM runs WHERE num = ?1
     ON CONFLICT (name) DO UPDATE SET run_id = excluded.run_id, due_at = excluded.due_at, body = excluded.body`,
    num,
    id,
    due_at,
    body,
  )
}

/** The run of an idempotency key that outlives it. */
export function* keptKey(idempotency: Uint8Array, now: number): Steps<Row | undefined> {
  return yield* get("SELECT run_id, fingerprint FROM kept_keys WHERE idempotency = ? AND until > ?", idempotency, now)
}

export function* keepKey(idempotency: Uint8Array, fingerprint: Uint8Array, run_id: string, until: number): Steps<void> {
  yield* run(
    `INSERT INTO kept_keys (idempotency, fingerprint, run_id, until) VALUES (?, ?, ?, ?)
     ON CONFLICT (idempotency) DO UPDATE SET fingerprint = excluded.fingerprint, run_id = excluded.run_id, until = excluded.until`,
    idempotency,
    fingerprint,
    run_id,
    until,
  )
}
