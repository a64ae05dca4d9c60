import { showUsage } from "../../log/usage.ts"
import {
  comesAfter,
  fitsStatus,
  type ListedRun,
  type ListedStatus,
  type RunPosition,
  type RunQuery,
  type RunStatus,
} from "../../ports/run-list.ts"
import type { Broker } from "./broker.ts"
import { lastToken, openEntryOf } from "./names.ts"
import { statusOf, type RunRows } from "./run-rows.ts"

/** For so long the pages behind the first are read from its list: to list the runs of a caller takes as long as there are many. */
const pagingMs = 30_000
/** Runs that are looked at together. */
const together = 32

/** The list of runs: an entry for each, whose subject says whose it is, of which workflow, and when it was made. How it stands is in its row. */
export class RunEntries {
  readonly #broker: Broker
  readonly #runs: RunRows

  constructor(broker: Broker, runs: RunRows) {
    this.#broker = broker
    this.#runs = runs
  }

  async list(query: RunQuery): Promise<ListedRun[]> {
    const { caller, workflow, status, since, limit, after } = query
    // Runs that are made meanwhile are not on later pages.
    const maxAgeMs = after === null ? 0 : pagingMs
    const subjects = await this.#broker.listRecent("rows", this.#broker.names.listedOf(caller, workflow), maxAgeMs)
    let places = subjects
      .map(placeOf)
      .filter((place) => (after === null || comesAfter(place, after)) && (since === null || place.created_at >= since))
    if (status !== null && isUnended(status)) {
      const unended = await this.unended()
      places = places.filter(({ run_id }) => unended.has(run_id))
    }
    places.sort((a, b) => (comesAfter(a, b) ? 1 : -1))
    const found: ListedRun[] = []
    for (let start = 0; start < places.length && found.length < limit; start += together) {
      const some = places.slice(start, start + together)
      const runs = await Promise.all(some.map(({ run_id }) => this.#read(run_id, query)))
      for (const run of runs) if (run !== null && found.length < limit) found.push(run)
    }
    return found
  }

  /** Ids of runs that are open or wait. A run that goes from one to the other meanwhile may be missing. */
  async unended(): Promise<Set<string>> {
    const { names } = this.#broker
    const [open, parked] = await Promise.all([
      this.#broker.list("rows", names.anyOpen),
      this.#broker.list("rows", names.parked("*", "*", "*")),
    ])
    return new Set([
      ...open.map((subject) => openEntryOf(subject).run_id),
      ...parked.map((subject) => subject.split(".").at(-2) ?? ""),
    ])
  }

  /** Null for a run that was deleted meanwhile, or does not fit the query. */
  async #read(run_id: string, { status: wanted, caller, error_kind: kind }: RunQuery): Promise<ListedRun | null> {
    const run = await this.#runs.get(run_id)
    if (run === null || (caller !== null && run.facts.caller !== caller)) return null
    const { facts } = run
    const status = statusOf(facts)
    const error_kind = facts.error_kind ?? null
    if (!fitsStatus(status, wanted) || (kind !== null && error_kind !== kind)) return null
    return {
      run_id,
      caller: facts.caller,
      workflow: facts.workflow ?? null,
      trigger: facts.trigger ?? null,
      status,
      error_kind,
      created_at: facts.created_at,
      finished_at: facts.finished_at ?? null,
      usage: showUsage(facts.usage),
    }
  }
}

/** Whether only runs that have not ended have this status. */
function isUnended(status: ListedStatus): boolean {
  return status !== "ended" && !fitsStatus(status as RunStatus, "ended")
}

function placeOf(subject: string): RunPosition {
  return { run_id: lastToken(subject), created_at: Number(subject.split(".").at(-2)) }
}
