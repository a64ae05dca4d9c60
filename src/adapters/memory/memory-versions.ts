import type { Clock } from "../../ports/clock.ts"
import type {
  KeptVersion,
  NewVersion,
  Pin,
  RunCounts,
  Serving,
  VersionPosition,
  VersionStore,
  VersionText,
} from "../../ports/version-store.ts"

interface Stored extends KeptVersion {
  readonly workflow: string
  readonly digest: string
  readonly text: VersionText
}

/** Versions of a `MemoryStore`. */
export class MemoryVersions implements VersionStore {
  readonly #clock: Clock
  readonly #countRuns: (workflow: string, caller: string | null) => ReadonlyMap<string, RunCounts>
  readonly #stored = new Map<string, Stored>()
  readonly #replicas = new Map<string, Serving>()
  readonly #pins = new Map<string, Pin>()

  constructor(clock: Clock, countRuns: (workflow: string, caller: string | null) => ReadonlyMap<string, RunCounts>) {
    this.#clock = clock
    this.#countRuns = countRuns
  }

  async keep({ workflow, version, digest, text }: NewVersion): Promise<"kept" | "clash"> {
    const now = this.#clock.now()
    const known = this.#stored.get(slot(workflow, version))
    if (known !== undefined && known.digest !== digest) return "clash"
    const times = { first_served_at: known?.first_served_at ?? now, last_served_at: now }
    const withdrawn_at = known?.withdrawn_at ?? null
    this.#stored.set(slot(workflow, version), { workflow, version, digest, text, ...times, withdrawn_at })
    return "kept"
  }

  async list(workflow: string, limit: number, after: VersionPosition | null): Promise<readonly KeptVersion[]> {
    return [...this.#stored.values()]
      .filter((one) => one.workflow === workflow && (after === null || isAfter(one, after)))
      .sort((a, b) => (isAfter(a, b) ? 1 : -1))
      .slice(0, limit)
      .map(shown)
  }

  async find(workflow: string, version: string): Promise<KeptVersion | null> {
    const found = this.#stored.get(slot(workflow, version))
    return found === undefined ? null : shown(found)
  }

  async text(workflow: string, version: string): Promise<VersionText | null> {
    return this.#stored.get(slot(workflow, version))?.text ?? null
  }

  async runs(workflow: string, caller: string | null): Promise<ReadonlyMap<string, RunCounts>> {
    return this.#countRuns(workflow, caller)
  }

  async withdraw(workflow: string, version: string): Promise<boolean> {
    const found = this.#stored.get(slot(workflow, version))
    if (found === undefined) return false
    this.#stored.set(slot(workflow, version), { ...found, withdrawn_at: found.withdrawn_at ?? this.#clock.now() })
    return true
  }

  async serve(serving: Serving): Promise<void> {
    this.#replicas.set(serving.replica, serving)
    const now = this.#clock.now()
    for (const [workflow, version] of Object.entries(serving.served)) {
      const found = this.#stored.get(slot(workflow, version))
      if (found !== undefined) this.#stored.set(slot(workflow, version), { ...found, last_served_at: now })
    }
  }

  async pin(workflow: string, version: string | null): Promise<Pin | null> {
    if (version === null) {
      this.#pins.delete(workflow)
      return null
    }
    const files = this.#running().flatMap(({ files: { [workflow]: file } }) => (file === undefined ? [] : [file]))
    const pin = { workflow, version, at: this.#clock.now(), files: [...new Set(files)] }
    this.#pins.set(workflow, pin)
    return pin
  }

  async pins(): Promise<readonly Pin[]> {
    return [...this.#pins.values()].sort((a, b) => (a.workflow < b.workflow ? -1 : 1))
  }

  async sweep(before: number): Promise<number> {
    const running = this.#running()
    let deleted = 0
    for (const [key, { workflow, version, last_served_at }] of this.#stored) {
      const isServed = running.some(({ served }) => served[workflow] === version)
      if (last_served_at >= before || isServed || this.#pins.get(workflow)?.version === version) continue
      if (this.#countRuns(workflow, null).has(version)) continue
      this.#stored.delete(key)
      deleted++
    }
    return deleted
  }

  #running(): Serving[] {
    const now = this.#clock.now()
    for (const [replica, { until }] of this.#replicas) if (until <= now) this.#replicas.delete(replica)
    return [...this.#replicas.values()]
  }
}

function slot(workflow: string, version: string): string {
  return `${workflow} ${version}`
}

function isAfter(one: VersionPosition, other: VersionPosition): boolean {
  if (one.first_served_at !== other.first_served_at) return one.first_served_at < other.first_served_at
  return one.version < other.version
}

function shown({ version, first_served_at, last_served_at, withdrawn_at }: Stored): KeptVersion {
  return { version, first_served_at, last_served_at, withdrawn_at }
}
