import type { Usage } from "../../log/events.ts"
import { isTerminal } from "../../log/events.ts"
import { noUsage, showUsage } from "../../log/usage.ts"
import { usageAfter } from "../../log/usage-after.ts"
import {
  comesAfter,
  endStatus,
  errorKindOf,
  fitsStatus,
  openStatus,
  type ListedRun,
  type ListedStatus,
  type RunPosition,
  type RunQuery,
  type RunStatus,
} from "../../ports/run-list.ts"
import type { Clock } from "../../ports/clock.ts"
import type { NewRun, RunLookup } from "../../ports/store.ts"
import type { Broker } from "./broker.ts"
import type { LogReader } from "./log-reader.ts"
import { lastToken } from "./names.ts"
import type { OpenRuns } from "./open-runs.ts"

const pageLimits = { events: 500, bytes: 8 * 1024 * 1024 }
/** For so long the pages behind the first are read from its list: to list the runs of a caller takes as long as there are many. */
const pagingMs = 30_000
/** Runs that are looked at together. */
const batch = 32
const rememberedUsages = 10_000
/** An entry that is so old and has no run is left of a run that was never made. */
const orphanMs = 3_600_000

interface Entry extends RunPosition {
  readonly subject: string
}

/**
 * The list of runs: an entry for each, whose subject says whose it is, of which workflow, and when it was made. It is made before
 * the run, and deleted with it. How the run stands is read from its log.
 */
export class RunEntries {
  readonly #broker: Broker
  readonly #reader: LogReader
  readonly #open: OpenRuns
  readonly #clock: Clock
  readonly #lookup: (run_id: string) => Promise<RunLookup>
  /** What runs had used up to an event. */
  readonly #usages = new Map<string, { readonly last: number; readonly usage: Usage }>()

  constructor(
    broker: Broker,
    reader: LogReader,
    open: OpenRuns,
    clock: Clock,
    lookup: (run_id: string) => Promise<RunLookup>,
  ) {
    this.#broker = broker
    this.#reader = reader
    this.#open = open
    this.#clock = clock
    this.#lookup = lookup
  }

  async enter({ run_id, caller, created_at, request }: NewRun): Promise<void> {
    const workflow = request.workflow?.name ?? null
    await this.#broker.put(this.#broker.names.listed({ caller, workflow, created_at, run_id }), new Uint8Array())
  }

  async list(query: RunQuery): Promise<ListedRun[]> {
    const { caller, workflow, status, since, limit, after } = query
    // Runs that are made meanwhile are not on later pages.
    const most_ms = after === null ? 0 : pagingMs
    const subjects = await this.#broker.listRecent("runs", this.#broker.names.listedOf(caller, workflow), most_ms)
    let places = subjects
      .map((subject): Entry => ({ ...placeOf(subject), subject }))
      .filter((place) => (after === null || comesAfter(place, after)) && (since === null || place.created_at >= since))
    if (status !== null && isOpen(status)) {
      const open = await this.#unended()
      places = places.filter(({ run_id }) => open.has(run_id))
    }
    places.sort((a, b) => (comesAfter(a, b) ? 1 : -1))
    const found: ListedRun[] = []
    for (let start = 0; start < places.length && found.length < limit; start += batch) {
      const runs = await Promise.all(places.slice(start, start + batch).map((entry) => this.#read(entry, query)))
      for (const run of runs) if (run !== null && found.length < limit) found.push(run)
    }
    return found
  }

  /** A run that waits for people is not among the open ones. */
  async #unended(): Promise<Set<string>> {
    const open = await this.#open.list()
    const parked = await this.#broker.list("ask", this.#broker.names.parked("*", "*"))
    return new Set([...open.map(({ run_id }) => run_id), ...parked.map(lastToken)])
  }

  /** Null for a run that was deleted meanwhile, was never made, or does not fit the query. */
  async #read(entry: Entry, { status: wanted, caller, error_kind: kind }: RunQuery): Promise<ListedRun | null> {
    const { run_id } = entry
    const found = await this.#lookup(run_id)
    if (found.found === "nothing" && this.#clock.now() - entry.created_at > orphanMs) {
      await this.#broker.purge("runs", entry.subject)
    }
    if (found.found !== "run" || (caller !== null && found.run.caller !== caller)) return null
    const { created_at, finished_at, cancel_requested, waiting, last_event_id, workflow, trigger } = found.run
    const [end] =
      finished_at === null
        ? []
        : await this.#reader.page(run_id, last_event_id - 1, { ...pageLimits, events: 1 }, false)
    const status =
      end === undefined ? openStatus({ cancel_requested, waiting, begun: last_event_id > 0 }) : endStatus(end)
    const error_kind = end === undefined ? null : errorKindOf(end)
    if (!fitsStatus(status, wanted) || (kind !== null && error_kind !== kind)) return null
    const hasUsage = end !== undefined && isTerminal(end.type) && "usage" in end.data
    const usage = hasUsage ? usageAfter(noUsage, end) : await this.#usageUpTo(run_id, last_event_id)
    const { caller: ofRun } = found.run
    return {
      run_id,
      caller: ofRun,
      workflow,
      trigger,
      status,
      error_kind,
      created_at,
      finished_at,
      usage: showUsage(usage),
    }
  }

  async #usageUpTo(run_id: string, last: number): Promise<Usage> {
    let { last: seen, usage } = this.#usages.get(run_id) ?? { last: 0, usage: noUsage }
    while (seen < last) {
      const events = await this.#reader.page(run_id, seen, pageLimits, false)
      if (events.length === 0) break
      usage = events.reduce(usageAfter, usage)
      seen = events.at(-1)?.id ?? last
    }
    this.#usages.delete(run_id)
    this.#usages.set(run_id, { last: seen, usage })
    const [oldest] = this.#usages.keys()
    if (this.#usages.size > rememberedUsages && oldest !== undefined) this.#usages.delete(oldest)
    return usage
  }
}

/** Whether only runs that have not ended have this status. */
function isOpen(status: ListedStatus): boolean {
  return status !== "ended" && !fitsStatus(status as RunStatus, "ended")
}

function placeOf(subject: string): RunPosition {
  return { run_id: lastToken(subject), created_at: Number(subject.split(".").at(-2)) }
}
