import type { Clock } from "../../ports/clock.ts"
import {
  objectGraceMs,
  type AddedFile,
  type FileDeletion,
  type FileStore,
  type FileTotals,
  type FileUse,
  type NewFile,
  type StoredFile,
} from "../../ports/file-store.ts"

interface HeldObject {
  readonly name: string
  readonly caller: string
  readonly key: Uint8Array
  readonly bytes: number
  /** Null once no file needs it. */
  content: string | null
  gone_at: number | null
}

interface HeldFile {
  readonly file: Omit<StoredFile, "expires_at" | "object" | "key">
  readonly object: HeldObject
  readonly slot: string
  expires_at: number
  /** By run and step. */
  readonly uses: Map<string, FileUse & { readonly run_id: string }>
}

/** Rows of files of a `MemoryStore`. */
export class MemoryFiles implements FileStore {
  readonly #clock: Clock
  readonly #isOpen: (run_id: string) => boolean | null
  /** In the order in which they came. */
  readonly #files = new Map<string, HeldFile>()
  readonly #slots = new Map<string, HeldFile>()
  readonly #objects = new Map<string, HeldObject>()
  readonly #contents = new Map<string, HeldObject>()
  #made = 0

  /** `isOpen`: whether a run has not ended; null where there is none. */
  constructor(clock: Clock, isOpen: (run_id: string) => boolean | null) {
    this.#clock = clock
    this.#isOpen = isOpen
  }

  async add(file: NewFile): Promise<AddedFile> {
    const { caller, file_id, object, key, most, made, created_at, expires_at, ...facts } = file
    const { bytes, sha256, media_type, name } = facts
    const slot = JSON.stringify(made === undefined ? [caller, sha256, media_type, name] : [caller, file_id])
    const known = this.#slots.get(slot)
    if (known !== undefined) {
      known.expires_at = Math.max(known.expires_at, expires_at)
      if (made !== undefined) use(known, made.run_id, useOf(made.step))
      return { outcome: "known", file_id: known.file.file_id, created_at: known.file.created_at, taken: false }
    }
    const content = JSON.stringify([caller, sha256])
    const same = this.#contents.get(content)
    if (same === undefined && (await this.totals(caller)).bytes + bytes > most) return { outcome: "full", taken: false }
    const of = same ?? { name: object, caller, key, bytes, content, gone_at: null }
    this.#objects.set(of.name, of)
    this.#contents.set(content, of)
    const held: HeldFile = {
      file: { ...facts, file_id, caller, created_at, number: ++this.#made },
      object: of,
      slot,
      expires_at,
      uses: new Map(),
    }
    if (made !== undefined) use(held, made.run_id, useOf(made.step))
    this.#files.set(file_id, held)
    this.#slots.set(slot, held)
    return { outcome: "stored", file_id, created_at, taken: same === undefined }
  }

  /** The first of these ids that is no file of the caller; undefined where all are. */
  missing(caller: string, ids: readonly string[]): string | undefined {
    return ids.find((id) => this.#files.get(id)?.file.caller !== caller)
  }

  useInputs(run_id: string, ids: readonly string[]): void {
    this.#refer(run_id, ids, useOf(null))
  }

  #refer(run_id: string, ids: readonly string[], how: FileUse): void {
    for (const id of ids) {
      const held = this.#files.get(id)
      if (held !== undefined) use(held, run_id, how)
    }
  }

  /** The run is deleted. */
  forgetRun(run_id: string): void {
    for (const { uses } of this.#files.values()) {
      for (const [key, one] of uses) if (one.run_id === run_id) uses.delete(key)
    }
  }

  /** Drops the files that no other run uses. Their objects are due at once. */
  dropThoseOf(run_id: string): void {
    for (const held of this.#files.values()) {
      const users = new Set([...held.uses.values()].map((use) => use.run_id))
      if (users.has(run_id) && users.size === 1) this.#drop(held, 0)
    }
  }

  async one(file_id: string): Promise<StoredFile | null> {
    const held = this.#files.get(file_id)
    return held === undefined ? null : shown(held)
  }

  async list(caller: string, limit: number, after: number): Promise<readonly StoredFile[]> {
    const found: StoredFile[] = []
    for (const held of [...this.#files.values()].reverse()) {
      if (found.length >= limit) break
      if (held.file.caller === caller && (after === 0 || held.file.number < after)) found.push(shown(held))
    }
    return found
  }

  async ofRun(run_id: string): Promise<readonly (StoredFile & FileUse)[]> {
    const found: (StoredFile & FileUse)[] = []
    for (const held of this.#files.values()) {
      for (const { origin, step, run_id: of } of held.uses.values()) {
        if (of === run_id) found.push({ ...shown(held), origin, step })
      }
    }
    return found.toSorted((a, b) => Number(a.origin === "made") - Number(b.origin === "made"))
  }

  async use(run_id: string, caller: string, files: readonly string[], step: string | null): Promise<boolean> {
    if (this.missing(caller, files) !== undefined) return false
    this.#refer(run_id, files, useOf(step))
    return true
  }

  async runsOf(file_id: string): Promise<readonly string[]> {
    const uses = this.#files.get(file_id)?.uses.values() ?? []
    return [...new Set([...uses].map(({ run_id }) => run_id))].sort()
  }

  async delete(file_id: string): Promise<FileDeletion> {
    const held = this.#files.get(file_id)
    if (held === undefined) return "gone"
    if ([...held.uses.values()].some(({ run_id }) => this.#isOpen(run_id) === true)) return "used"
    this.#drop(held)
    return "deleted"
  }

  #drop(held: HeldFile, graceMs = objectGraceMs): void {
    this.#files.delete(held.file.file_id)
    this.#slots.delete(held.slot)
    for (const { object } of this.#files.values()) if (object === held.object) return
    if (held.object.content !== null) this.#contents.delete(held.object.content)
    held.object.content = null
    held.object.gone_at = this.#clock.now() + graceMs
  }

  /** Drops files whose time is over, and which no run refers to. */
  sweep(now: number): void {
    for (const held of this.#files.values()) if (held.expires_at <= now && held.uses.size === 0) this.#drop(held)
  }

  async dueObjects(limit: number): Promise<readonly string[]> {
    const now = this.#clock.now()
    const due = [...this.#objects.values()].filter(({ gone_at }) => gone_at !== null && gone_at <= now)
    return due.slice(0, limit).map(({ name }) => name)
  }

  async named(objects: readonly string[]): Promise<readonly string[]> {
    return objects.filter((name) => this.#objects.has(name))
  }

  async forget(objects: readonly string[]): Promise<void> {
    for (const name of objects) if ((this.#objects.get(name)?.gone_at ?? null) !== null) this.#objects.delete(name)
  }

  async totals(caller: string | null): Promise<FileTotals> {
    let bytes = 0
    for (const object of this.#objects.values()) if (caller === null || object.caller === caller) bytes += object.bytes
    let files = 0
    for (const { file } of this.#files.values()) if (caller === null || file.caller === caller) files++
    return { bytes, files }
  }
}

function use(held: HeldFile, run_id: string, one: FileUse): void {
  held.uses.set(JSON.stringify([run_id, one.origin, one.step]), { ...one, run_id })
}

function shown({ file, object, expires_at }: HeldFile): StoredFile {
  return { ...file, expires_at, object: object.name, key: object.key }
}

/** How a run came by a file: `step` is null for an input. */
function useOf(step: string | null): FileUse {
  return step === null ? { origin: "input", step: "" } : { origin: "made", step }
}
