import assert from "node:assert/strict"
import { createHash, randomBytes } from "node:crypto"
import { FilesFailure, type ObjectStore } from "../../src/ports/files.ts"
import type { FileStore } from "../../src/ports/file-store.ts"
import type { Lease, RunStore } from "../../src/ports/store.ts"
import { FileRefusal, Files, type GivenFile } from "../../src/run/files/files.ts"
import { aRun, ended } from "../contract/run-store/material.ts"
import type { ManualClock } from "./manual-clock.ts"

// The life of some files, in which one call of the store or of the place for objects goes wrong: the process dies before it, in the middle of it or after it, the call
// fails and the process lives on, or another process sweeps meanwhile. Then another process goes on, and nothing may be lost or left behind.

const hour = 3_600_000
const longMs = 3_650 * 24 * hour
/** Longer than an upload takes, and shorter: objects that nobody names are left alone for a day. */
const [soon, late] = [2 * hour, 26 * hour]

export interface FilesWorld {
  readonly store: RunStore
  readonly objects: ObjectStore
  /** Of the store and of the processes. The place for objects has that of the machine. */
  readonly clock: ManualClock
  /** Bytes of the larger file. */
  readonly large: number
}

type When = "before" | "in the middle of" | "after"
type What = "dies" | "fails" | "is swept"

/** What goes wrong, at which of its calls. */
interface Trouble {
  readonly at: number
  readonly when: When
  readonly what: What
}

/** A process that takes files, through ports that count its calls. */
class Process {
  readonly files: Files
  /** The same, for a caller who may keep one byte. */
  readonly fullFiles: Files
  readonly #world: FilesWorld
  readonly #trouble: Trouble | null
  readonly #writes: (() => Promise<void>)[] = []
  readonly calls: string[] = []
  isDead = false

  constructor(world: FilesWorld, trouble: Trouble | null) {
    this.#world = world
    this.#trouble = trouble
    const [objects, rows] = [this.#objects(), this.#rows()]
    this.files = filesOf(world, objects, rows)
    this.fullFiles = filesOf(world, objects, rows, 1)
  }

  async call<T>(name: string, made: () => Promise<T>, half = async (): Promise<void> => {}): Promise<T> {
    if (this.isDead) throw new FilesFailure("The process is dead")
    const trouble = this.calls.push(name) - 1 === this.#trouble?.at ? this.#trouble : null
    if (trouble === null) return made()
    const { when, what } = trouble
    if (what === "is swept") {
      if (when === "before") await sweepAll(this.#world, soon)
      const done = await made()
      if (when === "after") await sweepAll(this.#world, soon)
      return done
    }
    this.isDead = what === "dies"
    if (when === "in the middle of") await half()
    if (when === "after") await made()
    throw new FilesFailure(`It ${what} ${when} its call to ${name}`)
  }

  /** Ends what the dead process was writing. */
  async bury(): Promise<void> {
    for (const end of this.#writes) await end()
  }

  #objects(): ObjectStore {
    const { objects } = this.#world
    return {
      where: objects.where,
      put: async (name, body) => {
        const parts: Uint8Array[] = []
        for await (const part of body) parts.push(Uint8Array.from(part))
        const put = (): Promise<void> => objects.put(name, theseParts(parts))
        return this.call("put an object", put, () => this.#putHalf(name, parts))
      },
      get: (name, range) => objects.get(name, range),
      delete: (name) => this.call("delete an object", () => objects.delete(name)),
      list: () => objects.list(),
      probe: () => objects.probe(),
      close: async () => {},
    }
  }

  /** The end of an object never comes. Who is dead cleans nothing up. */
  async #putHalf(name: string, parts: readonly Uint8Array[]): Promise<void> {
    const [written, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    if (!this.isDead) end.resolve()
    const body = async function* (): AsyncGenerator<Uint8Array, void> {
      const last = parts.at(-1) ?? new Uint8Array()
      yield* parts.slice(0, -1)
      yield last.subarray(0, last.length / 2)
      written.resolve()
      await end.promise
      throw new FilesFailure("It died here")
    }
    const broken = assert.rejects(this.#world.objects.put(name, body()), FilesFailure)
    await written.promise
    if (!this.isDead) return broken
    this.#writes.push(() => (end.resolve(), broken))
  }

  #rows(): FileStore {
    const rows = this.#world.store.files
    return {
      add: (file) => this.call("add a row", () => rows.add(file)),
      one: (file_id) => this.call("read a row", () => rows.one(file_id)),
      list: (...page) => rows.list(...page),
      ofRun: (run_id) => rows.ofRun(run_id),
      use: (...files) => rows.use(...files),
      runsOf: (file_id) => rows.runsOf(file_id),
      delete: (file_id) => this.call("delete a row", () => rows.delete(file_id)),
      dueObjects: (limit) => this.call("read due objects", () => rows.dueObjects(limit)),
      named: (names) => this.call("read named objects", () => rows.named(names)),
      forget: (names) => this.call("forget objects", () => rows.forget(names)),
      totals: (caller) => rows.totals(caller),
    }
  }
}

function filesOf({ clock }: FilesWorld, objects: ObjectStore, store: FileStore, perCaller = 2 ** 40): Files {
  return new Files({ objects, store, clock }, { file: 2 ** 30, perCaller, retentionMs: longMs })
}

/** As another process does it. */
async function sweepAll(world: FilesWorld, laterMs: number): Promise<void> {
  const files = filesOf(world, world.objects, world.store.files)
  world.clock.advance(laterMs)
  await world.store.sweep(0)
  await files.sweepObjects()
  await files.sweepLeftovers()
}

async function* theseParts(parts: readonly Uint8Array[]): AsyncGenerator<Uint8Array, void> {
  yield* parts
}

const given = (name: string): GivenFile => ({ name, media_type: null, bytes: null })

/** What a caller was told, and relies on. */
interface Told {
  readonly caller: string
  readonly contents: Map<string, Buffer>
  run: { readonly run_id: string; readonly lease: Lease } | null
  readonly text: Buffer
}

/** A file that a step of the run makes, under the same id whenever it runs. */
async function make(files: Files, { caller, contents, run, text }: Told): Promise<void> {
  if (run === null) return
  const { run_id } = run
  const { file } = await files.put(caller, given("made.txt"), theseParts([text]), {
    file_id: `file_of_${run_id}`,
    run_id,
    step: "agent.write",
  })
  contents.set(file.file_id, text)
}

/** Every way in which files come and go. A process that lives goes on with the next step, whatever became of the one before. */
function lifeOf(world: FilesWorld, process: Process, told: Told): (() => Promise<void>)[] {
  const { files, fullFiles } = process
  const { store, clock } = world
  const { caller, contents, text } = told
  const [small, large] = [randomBytes(100), randomBytes(world.large)]
  const ids = new Map<string, string>()
  const send = (name: string, bytes: Buffer) => async (): Promise<void> => {
    const { file } = await files.put(caller, given(name), theseParts([bytes]))
    contents.set(file.file_id, bytes)
    ids.set(name, file.file_id)
  }
  const drop = (name: string) => async (): Promise<void> => {
    const id = ids.get(name)
    if (id === undefined) return
    // From here on nobody relies on it.
    contents.delete(id)
    await files.store.delete(id)
  }
  const admit = async (): Promise<void> => {
    const id = ids.get("small")
    const run = aRun({ caller, files: id === undefined ? [] : [id] })
    const created = await store.create(run, "owner", longMs)
    assert.ok(created.outcome === "created")
    told.run = { run_id: run.run_id, lease: created.lease }
  }
  return [
    send("small", small),
    send("small", small),
    send("the same contents", small),
    send("large", large),
    () => process.call("admit a run", admit),
    () => make(files, told),
    () => make(files, told),
    async () => {
      const full = fullFiles.put(caller, given("too much"), theseParts([Buffer.concat([small, text])]))
      const kind = await full.then(
        () => "stored",
        (error: unknown) => {
          if (error instanceof FileRefusal) return error.kind
          throw error
        },
      )
      assert.equal(kind, "storage_full")
    },
    drop("small"),
    drop("the same contents"),
    drop("large"),
    send("large", large),
    async () => {
      clock.advance(soon)
      await files.sweepObjects()
    },
    async () => {
      clock.advance(late)
      await files.sweepLeftovers()
    },
  ]
}

async function live(world: FilesWorld, trouble: Trouble | null): Promise<readonly string[]> {
  const { store, objects, clock } = world
  clock.jump(Date.now() - clock.now())
  const caller = randomBytes(8).toString("hex")
  const told: Told = { caller, contents: new Map(), run: null, text: randomBytes(3_000) }
  // A process before this one died after it had written an object.
  await objects.put(randomBytes(16).toString("hex"), theseParts([randomBytes(10)]))
  const process = new Process(world, trouble)
  for (const step of lifeOf(world, process, told)) {
    await step().catch((error: unknown) => {
      if (!(error instanceof FilesFailure && trouble !== null)) throw error
    })
  }
  // Another process goes on with the run.
  const { files } = new Process(world, null)
  await make(files, told)
  await sweepAll(world, late)

  for (const [file_id, bytes] of told.contents) {
    const file = await store.files.one(file_id)
    assert.ok(file !== null, "a file is lost")
    assert.ok((await files.readAll(file)).equals(bytes), "the contents of a file are not what they were")
  }
  const rows = await store.files.list(caller, 100, 0)
  for (const row of rows) {
    const contents = await files.readAll(row)
    assert.equal(createHash("sha256").update(contents).digest("hex"), row.sha256)
  }
  const named = new Map(rows.map(({ object, bytes }) => [object, bytes]))
  assert.deepEqual(await objectsIn(objects), [...named.keys()].toSorted(), "the objects are those of the files")
  const bytes = [...named.values()].reduce((sum, one) => sum + one, 0)
  assert.deepEqual(await store.files.totals(caller), { bytes, files: rows.length })

  if (told.run !== null) {
    await store.append(told.run.lease, [ended(1)])
    assert.equal(await store.delete(told.run.run_id), "deleted")
  }
  for (const { file_id } of rows) assert.equal(await store.files.delete(file_id), "deleted")
  await sweepAll(world, soon)
  assert.deepEqual(await objectsIn(objects), [], "nothing is left behind")
  assert.deepEqual(await store.files.totals(caller), { bytes: 0, files: 0 })
  await process.bury()
  return process.calls
}

async function objectsIn(objects: ObjectStore): Promise<string[]> {
  const names: string[] = []
  for await (const { name } of objects.list()) names.push(name)
  return names.toSorted()
}

/** Every trouble at every call, or each `every`th of them. Returns how many there are in all. */
export async function troubleEverywhere(world: FilesWorld, every = 1): Promise<number> {
  const calls = await live(world, null)
  const troubles = calls.flatMap((name, at) => {
    const times: readonly When[] = ["before", "after"]
    const halves: readonly When[] = name === "put an object" ? ["in the middle of"] : []
    const on = (what: What) => (when: When) => ({ at, name, when, what })
    return [...times, ...halves]
      .flatMap((when) => [on("dies")(when), on("fails")(when)])
      .concat(times.map(on("is swept")))
  })
  for (const trouble of troubles.filter((_, index) => index % every === 0)) {
    await live(world, trouble).catch((error: unknown) => {
      const { what, when, at, name } = trouble
      throw new Error(`A process that ${what} ${when} its call ${at} (${name})`, { cause: error })
    })
  }
  return troubles.length
}
