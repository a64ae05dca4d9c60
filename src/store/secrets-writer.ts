import { get, run, type Steps } from "./sql.ts"

/**
 * As many as fill several pages. They are added while all places before them are taken, so that SQLite begins new pages and moves no row; and the first ones before any
 * is taken, because the first page of a table is moved when it is full.
 */
const addedPlaces = 256

/** Stores the secrets of a new run, and the key that they are sealed under, wrapped. */
export function* addSecrets(num: number, body: Uint8Array, key: Uint8Array): Steps<void> {
  let place = yield* takePlace(key)
  while (place === undefined) {
    yield* addPlaces(key.length)
    place = yield* takePlace(key)
  }
  yield* run("INSERT INTO secrets (run, place, body) VALUES (?, ?, ?)", num, place, body)
}

/** Erases the key first of all: what may be left of the secrets is of no use without it. */
export function* eraseSecrets(num: number): Steps<void> {
  const found = yield* get(
    `SELECT secrets.place AS place, length(key) AS bytes FROM secrets JOIN secret_keys ON secret_keys.place = secrets.place WHERE run = ?`,
    num,
  )
  if (found === undefined) return
  const zeros = new Uint8Array(found["bytes"] as number)
  yield* run("UPDATE secret_keys SET taken = 0, key = ? WHERE place = ?", zeros, found["place"] as number)
  yield* run("DELETE FROM secrets WHERE run = ?", num)
}

/** In one statement: runs that are made side by side in one transaction take a place each. Undefined where all are taken. */
function* takePlace(key: Uint8Array): Steps<number | undefined> {
  const taken = yield* get(
    "UPDATE secret_keys SET taken = 1, key = ? WHERE place = (SELECT place FROM secret_keys WHERE taken = 0 ORDER BY place LIMIT 1) RETURNING place",
    key,
  )
  return taken?.["place"] as number | undefined
}

/** Another run beside may add the same ones. */
function* addPlaces(bytes: number): Steps<void> {
  const last = (yield* get("SELECT coalesce(max(place), 0) AS last FROM secret_keys"))?.["last"] as number
  const zeros = new Uint8Array(bytes)
  for (let place = last + 1; place <= last + addedPlaces; place++) {
    yield* run("INSERT INTO secret_keys (place, taken, key) VALUES (?, 0, ?) ON CONFLICT DO NOTHING", place, zeros)
  }
}
