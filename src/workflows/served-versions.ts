import type { Compiler } from "../compiler/compiler.ts"
import { fullVersionOf } from "../compiler/version-of.ts"
import type { Clock } from "../ports/clock.ts"
import { isStoreTrouble } from "../ports/store.ts"
import type { KeptVersion, NewVersion, Pin, VersionStore } from "../ports/version-store.ts"
import { nameOfCandidate } from "./workflow-name.ts"
import { loadWorkflow, type LoadedWorkflow } from "./load-workflow.ts"
import type { NamedWorkflow, PinnedVersion, WorkflowFolder } from "./workflow-folder.ts"

export interface VersionsOptions {
  readonly folder: WorkflowFolder
  readonly store: VersionStore
  readonly compiler: Compiler
  readonly clock: Pick<Clock, "now" | "monotonic">
  /** Names this process among those that share the store. */
  readonly replica: string
  /** How long a version is kept that does not serve and has no runs. */
  readonly retentionMs: number
  /** How long callers may ask for a version that does not serve any more. */
  readonly callableMs: number
  /** Sentences for the operator. */
  readonly tell: (workflow: string, sentence: string, level: "info" | "error") => void
  readonly bug: (error: unknown) => void
}

/** How often a process looks for pins that others have set. */
const lookMs = 1_000
/** How often it says that it still serves, and how long it counts as running after that. */
const beatMs = 20_000
const silentMs = 65_000
const maxSweepMs = 3_600_000
/** Loaded versions besides those that serve. */
const maxLoaded = 100

export type LoadedVersion = { readonly loaded: LoadedWorkflow } | "unknown" | "invalid"

/** The versions of the served workflows: keeps each that serves, and serves the kept ones that operators have pinned. */
export class ServedVersions {
  readonly #options: VersionsOptions
  /** By workflow: the version that this process has kept last, or was refused. */
  readonly #kept = new Map<string, string>()
  readonly #loaded = new Map<string, Promise<LoadedVersion>>()
  /** JSON of the pins and files that were settled last. */
  #settled = ""
  #timer: NodeJS.Timeout | null = null
  #stopListening: () => void = () => {}
  #working: Promise<void> = Promise.resolve()
  #toldAt = Number.NEGATIVE_INFINITY
  #told = ""
  #sweptAt = Number.NEGATIVE_INFINITY
  #stopped = false

  constructor(options: VersionsOptions) {
    this.#options = options
  }

  /** Resolves when the versions of the folder are kept, and pins of earlier days serve. */
  async start(): Promise<void> {
    await this.#options.folder.ready
    this.#stopListening = this.#options.folder.onChange(() => void this.settle())
    this.#timer = setInterval(() => void this.settle(), lookMs).unref()
    await this.settle()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#stopListening()
    if (this.#timer !== null) clearInterval(this.#timer)
    await this.#working
    const { store, replica, clock } = this.#options
    if (this.#told !== "") {
      await store.serve({ replica, files: {}, served: {}, until: clock.now() }).catch(() => undefined)
    }
  }

  /** Brings store and folder together: one such work at a time. */
  settle(): Promise<void> {
    this.#working = this.#working
      .then(() => this.#settle())
      .catch((error: unknown) => {
        // It is tried again in a moment.
        if (!isStoreTrouble(error)) this.#options.bug(error)
      })
    return this.#working
  }

  async #settle(): Promise<void> {
    if (this.#stopped) return
    const { store, folder } = this.#options
    await this.#servePins(await store.pins())
    const workflows = folder.list()
    for (const { name, serving, candidate } of workflows) {
      if (serving !== null) await this.#keep(name, serving)
      if (candidate?.loaded) await this.#keep(name, candidate.loaded, nameOfCandidate(name))
    }
    await this.#tell(workflows)
    await this.#sweep()
  }

  async #keep(workflow: string, loaded: LoadedWorkflow, place = workflow): Promise<void> {
    if (this.#kept.get(place) === loaded.version) return
    const version = versionToKeep(workflow, loaded)
    if ((await this.#options.store.keep(version)) === "clash") {
      const sentence = `Version ${loaded.version} of ${workflow} is not kept: another one with the same digits is. Change a comment of the file`
      this.#options.tell(workflow, sentence, "error")
    }
    this.#kept.set(place, loaded.version)
  }

  async #tell(workflows: readonly NamedWorkflow[]): Promise<void> {
    const { store, replica, clock } = this.#options
    const [files, served]: [Record<string, string>, Record<string, string>] = [{}, {}]
    for (const { name, version, serving } of workflows) {
      if (version !== null) files[name] = version
      if (serving !== null) served[name] = serving.version
    }
    const told = JSON.stringify([files, served])
    if (told === this.#told && clock.monotonic() - this.#toldAt < beatMs) return
    await store.serve({ replica, files, served, until: clock.now() + silentMs })
    this.#told = told
    this.#toldAt = clock.monotonic()
  }

  async #servePins(pins: readonly Pin[]): Promise<void> {
    const { folder, tell } = this.#options
    const settled = JSON.stringify(pins)
    if (settled === this.#settled) return
    const pinned = new Map<string, PinnedVersion>()
    for (const { workflow, version, files } of pins) {
      const found = await this.load(workflow, version)
      if (typeof found === "object") pinned.set(workflow, { loaded: found.loaded, files })
      else tell(workflow, `The workflow ${workflow} is pinned to version ${version}, which is ${found} here`, "error")
    }
    const before = new Map(
      folder.list().map((one) => [one.name, one.pinned === true ? one.serving?.version : undefined]),
    )
    folder.setPins(pinned)
    this.#settled = settled
    for (const { name, pinned: isPinned, serving } of folder.list()) {
      const was = before.get(name)
      const is = isPinned === true ? serving?.version : undefined
      if (is !== undefined && is !== was) tell(name, `The workflow ${name} is pinned: it serves version ${is}`, "info")
      if (is === undefined && was !== undefined) tell(name, `The workflow ${name} serves its file again`, "info")
    }
  }

  async #sweep(): Promise<void> {
    const { store, clock, retentionMs } = this.#options
    const every = Math.min(maxSweepMs, Math.max(beatMs, retentionMs / 4))
    if (clock.monotonic() - this.#sweptAt < every) return
    this.#sweptAt = clock.monotonic()
    await store.sweep(clock.now() - retentionMs)
  }

  /** A kept version, compiled. */
  load(workflow: string, version: string): Promise<LoadedVersion> {
    const key = `${workflow} ${version}`
    const known = this.#loaded.get(key)
    if (known !== undefined) return known
    if (this.#loaded.size >= maxLoaded) this.#loaded.clear()
    const loading = this.#load(workflow, version)
    this.#loaded.set(key, loading)
    const forget = (): boolean => this.#loaded.delete(key)
    loading.then((found) => found === "unknown" && forget(), forget)
    return loading
  }

  async #load(workflow: string, version: string): Promise<LoadedVersion> {
    const { store, compiler } = this.#options
    const text = await store.text(workflow, version)
    if (text === null) return "unknown"
    const { file, source, modules } = text
    const bytes = (path: string): Buffer | undefined => {
      const found = modules[path]
      return found === undefined ? undefined : Buffer.from(found)
    }
    const outcome = await loadWorkflow(Buffer.from(source), file, bytes, compiler)
    // This release may refuse what an earlier one served.
    return "loaded" in outcome && outcome.loaded.described.valid ? { loaded: outcome.loaded } : "invalid"
  }

  /** Whether callers may ask for this version: it serves, or has served lately and was not withdrawn. */
  async isCallable(workflow: string, version: string): Promise<boolean> {
    const found = await this.#options.store.find(workflow, version)
    return found !== null && found.withdrawn_at === null && this.#isRecent(found)
  }

  #isRecent({ last_served_at }: KeptVersion): boolean {
    const { clock, callableMs } = this.#options
    return clock.now() - last_served_at < callableMs
  }

  /** Serves a kept version in place of the file (null: the file again) on all replicas; other replicas hear of it within a moment. */
  async pin(workflow: string, version: string | null): Promise<void> {
    // The pin holds what this process finds now.
    this.#toldAt = Number.NEGATIVE_INFINITY
    await this.settle()
    await this.#options.store.pin(workflow, version)
    await this.settle()
  }
}

function versionToKeep(workflow: string, { version, file, source, modules }: LoadedWorkflow): NewVersion {
  const main = file ?? `${workflow}.wire`
  const texts = { ...modules, [main]: source }
  return {
    workflow,
    version,
    digest: fullVersionOf(main, texts),
    text: { file: main, source, modules: { ...modules } },
  }
}
