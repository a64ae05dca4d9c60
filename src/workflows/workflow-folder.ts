import { statSync, watch, type FSWatcher } from "node:fs"
import { join } from "node:path"
import type { ValidateIssue } from "../api/issue.ts"
import type { WorkflowIssue } from "../api/workflows.ts"
import type { Compiler } from "../compiler/compiler.ts"
import { longerThanAllowed } from "../run/budget/run-time.ts"
import {
  loadCandidate,
  loadWorkflow,
  readWorkflow,
  unreadCandidate,
  type Candidate,
  type LoadedWorkflow,
  type LoadOutcome,
} from "./load-workflow.ts"
import { currentStamp, scanFolder, stampOf, type FolderScan, type FoundFile } from "./scan-folder.ts"
import { sourceBytes } from "../base/limits.ts"
import { findInProject } from "../compiler/project-path.ts"
import { readRegularFile } from "../compiler/read-regular-file.ts"
import { isCodePath } from "../source/code-files.ts"
import { nameClashes } from "./name-clashes.ts"
import { candidateOf, isHiddenName, nameOfCandidate } from "./workflow-name.ts"

type AnyIssue = ValidateIssue | WorkflowIssue

/** A workflow of the folder as it is served now. */
export interface NamedWorkflow {
  readonly name: string
  /** The last version without errors: what an execution runs. Null: there has been none. */
  readonly serving: LoadedWorkflow | null
  /** The present file, where it has errors and could be read. */
  readonly broken: LoadedWorkflow | null
  /** The version of the present file, where it could be read. */
  readonly version: string | null
  /** The issues of the present file. */
  readonly issues: readonly AnyIssue[]
  /** The file that may take its place, where there is one. */
  readonly candidate?: Candidate
  /** Its name is refused, or it is a link that leaves the folder: it cannot be executed. */
  readonly refused: boolean
  /** A kept version serves in place of the file. */
  readonly pinned?: true
}

/** A kept version that serves in place of a file, as long as that has one of these versions. */
export interface PinnedVersion {
  readonly loaded: LoadedWorkflow
  readonly files: readonly string[]
}

export interface FolderOptions {
  readonly folder: string
  readonly compiler: Compiler
  /** Called with every change and every problem: a sentence for the operator. */
  readonly tell: (workflow: string, sentence: string, level: "info" | "error") => void
  /** Hears of bugs of ours. */
  readonly bug: (error: unknown) => void
  /** Why files with schedules or webhooks cannot be served, as a sentence; absent or null where they can. */
  readonly whyNoTriggers?: string | null
  /** The longest time that a file may ask for; any unless given. */
  readonly maxRunMs?: number
  /** Candidates that ask for shadows get some. */
  readonly makesShadows?: boolean
  /** How long a file that looks half written must stay as it is: one that is empty, or has no line break at its end. */
  readonly halfWrittenMs?: number
}

/** How long a changed file must stay as it is before it is read. */
const quietMs = 30
const defaultHalfWrittenMs = 1_000
/** Editors delete a file and write it again: one that is missing for a moment is not gone. */
const goneMs = 250
/** Some file systems do not say what changes in them. */
const pollMs = 2_000

/** The state of a file, and since when it has had it. */
interface Sighting {
  /** Null for one that is missing. */
  readonly file: FoundFile | null
  readonly since: number
}

/**
 * The workflows of a folder, by name. It follows the folder: a changed file is compiled beside the version that serves, which is
 * replaced only by one without errors.
 */
export class WorkflowFolder {
  readonly #options: FolderOptions
  readonly #halfWrittenMs: number
  readonly #workflows = new Map<string, NamedWorkflow>()
  /** The last state of every file that was read, by name, including files that are not served. */
  readonly #stamps = new Map<string, string>()
  readonly #sightings = new Map<string, Sighting>()
  /** The bytes of all files that were taken in, by their paths from the folder. */
  readonly #texts = new Map<string, Buffer>()
  /** Workflows that keep what they serve, because another one that uses the same files has errors. */
  readonly #held = new Set<string>()
  /** By the workflows that they are candidates of. */
  readonly #candidates = new Map<string, Candidate & { readonly uses: ReadonlySet<string> }>()
  readonly #watchers = new Map<string, FSWatcher>()
  readonly #listeners = new Set<() => void>()
  #pins: ReadonlyMap<string, PinnedVersion> = new Map()
  /** The folder without links, as it was found last. */
  #root = ""
  #shown: ReadonlyMap<string, NamedWorkflow> | null = null
  #poll: NodeJS.Timeout | null = null
  #again: NodeJS.Timeout | null = null
  #scanning: Promise<void> | null = null
  #restsUntil = 0
  #changedMeanwhile = false
  #unreadable = false
  #loaded = false
  #closed = false
  /** Resolves when every file has been compiled; what comes before that is not the whole folder. */
  ready: Promise<void> = Promise.resolve()

  private constructor(options: FolderOptions) {
    this.#options = options
    this.#halfWrittenMs = options.halfWrittenMs ?? defaultHalfWrittenMs
  }

  /** Rejects where the folder cannot be read. Its files are compiled after that, so that the service need not wait for them. */
  static async open(options: FolderOptions): Promise<WorkflowFolder> {
    const folder = new WorkflowFolder(options)
    const scan = await scanFolder(options.folder)
    folder.#root = scan.root
    folder.#takeRefused(scan)
    folder.#watchAll(scan)
    folder.ready = folder.#load(scan).catch((error: unknown) => options.bug(error))
    return folder
  }

  /** Files that were found at the start, served or not. */
  get found(): { readonly files: number; readonly refused: readonly string[] } {
    return this.#found
  }

  #found: { files: number; refused: readonly string[] } = { files: 0, refused: [] }

  async #load(scan: FolderScan): Promise<void> {
    this.#found = {
      files: scan.files.length,
      refused: scan.refused.map(({ name }) => name),
    }
    // All are read first: they may use each other.
    for (const file of [...scan.files, ...scan.hidden, ...scan.candidates]) {
      if (this.#closed) return
      await this.#read(file, "now")
    }
    for (const file of scan.files) {
      if (this.#closed) return
      if (this.#texts.has(pathOf(file.name))) this.#settleOutcome(file, await this.#compiled(file.name), false)
    }
    for (const { name, stamp } of scan.hidden) this.#takeAway(name, stamp)
    for (const file of scan.candidates) await this.#reloadCandidate(file)
    for (const { name, issues, serving } of this.list()) {
      this.#tellIssues(name, issues)
      if (serving !== null) this.#tellOpen(name, serving)
    }
    this.#loaded = true
    if (this.#closed) return
    this.#poll = setInterval(() => this.#lookNowAndThen(), pollMs).unref()
    this.#look()
  }

  /** Sorted by name. */
  list(): NamedWorkflow[] {
    return [...this.#all().values()]
  }

  get(name: string): NamedWorkflow | undefined {
    return this.#all().get(name)
  }

  /** With the issues that come of other files. */
  #all(): ReadonlyMap<string, NamedWorkflow> {
    if (this.#shown === null) {
      const sorted = [...this.#withCandidates()].sort((a, b) => (a.name < b.name ? -1 : 1))
      const clashes = nameClashes(sorted.flatMap(({ name, refused }) => (refused ? [] : [name])))
      const withClashes = (workflow: NamedWorkflow): NamedWorkflow => {
        const more = workflow.refused ? [] : clashes(workflow.name)
        return more.length === 0 ? workflow : { ...workflow, issues: [...workflow.issues, ...more] }
      }
      this.#shown = new Map(sorted.map((workflow) => [workflow.name, withClashes(this.#withPin(workflow))]))
    }
    return this.#shown
  }

  #withPin(workflow: NamedWorkflow): NamedWorkflow {
    const pin = this.#pins.get(workflow.name)
    const holds = pin !== undefined && !workflow.refused && pin.files.includes(workflow.version ?? "")
    return holds ? { ...workflow, serving: pin.loaded, pinned: true } : workflow
  }

  /** By workflow: what serves in place of files from now on. */
  setPins(pins: ReadonlyMap<string, PinnedVersion>): void {
    this.#pins = pins
    this.#changed()
  }

  *#withCandidates(): Iterable<NamedWorkflow> {
    for (const workflow of this.#workflows.values()) {
      const candidate = this.#candidates.get(workflow.name)
      yield candidate === undefined ? workflow : { ...workflow, candidate }
    }
    for (const [name, { issues, version }] of this.#candidates) {
      if (this.#workflows.has(name)) continue
      yield { name: nameOfCandidate(name), serving: null, broken: null, version, issues, refused: true }
    }
  }

  /** Calls back after every change. The result stops it. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async close(): Promise<void> {
    this.#closed = true
    if (this.#poll !== null) clearInterval(this.#poll)
    if (this.#again !== null) clearTimeout(this.#again)
    for (const watcher of this.#watchers.values()) watcher.close()
    await this.ready
    await this.#scanning
  }

  /** Without a reason to: not while it is looked at, and in a folder that takes long not again and again. */
  #lookNowAndThen(): void {
    if (this.#scanning === null && performance.now() >= this.#restsUntil) this.#look()
  }

  /** Looks at the folder now; once more after a look that is under way. */
  #look(work: () => Promise<void> = () => this.#rescan()): void {
    if (this.#closed || !this.#loaded) return
    if (this.#scanning !== null) {
      this.#changedMeanwhile = true
      return
    }
    this.#scanning = work()
      .catch((error: unknown) => this.#options.bug(error))
      .finally(() => {
        this.#scanning = null
        if (!this.#changedMeanwhile) return
        this.#changedMeanwhile = false
        this.#look()
      })
  }

  async #rescan(): Promise<void> {
    let scan: FolderScan
    const began = performance.now()
    try {
      scan = await scanFolder(this.#options.folder)
      this.#root = scan.root
      if (this.#unreadable) this.#options.tell("", "The folder of workflows can be read again", "info")
      this.#unreadable = false
    } catch {
      // Everything keeps serving as it is.
      if (!this.#unreadable) this.#options.tell("", "The folder of workflows cannot be read", "error")
      this.#unreadable = true
      return
    }
    const now = performance.now()
    this.#restsUntil = now + 10 * (now - began)
    const code = await this.#codeFiles()
    for (const file of [...scan.files, ...scan.hidden, ...scan.candidates, ...code]) {
      if (this.#stamps.get(file.name) === file.stamp) this.#sightings.delete(file.name)
      else if (this.#isQuiet(file.name, file, quietMs, now)) await this.#take(file, "quiet")
    }
    this.#takeRefused(scan)
    for (const name of this.#dropGone({ ...scan, hidden: [...scan.hidden, ...code] }, now))
      await this.#reload({ name, path: "", stamp: "" })
    this.#watchAll(scan)
    this.#lookAgain(now)
  }

  /** The code files that workflows name and that are there. Others of the folder are not looked at. */
  async #codeFiles(): Promise<FoundFile[]> {
    const workflows = [...this.#workflows.values()]
    const ofCandidates = [...this.#candidates.values()].flatMap((one) => [...one.uses])
    const uses = workflows.flatMap(({ serving, broken }) => [...(serving?.uses ?? []), ...(broken?.uses ?? [])])
    const found: FoundFile[] = []
    for (const name of new Set([...uses, ...ofCandidates].filter(isCodePath))) {
      const path = join(this.#root, name)
      const stamp = "real" in findInProject(this.#root, name) ? await currentStamp(path) : null
      if (stamp !== null) found.push({ name, path, stamp })
    }
    return found
  }

  /** The bytes of a file that a workflow names. A code file is read when the first one names it. */
  #textOf(path: string): Buffer | undefined {
    if (!isCodePath(path) || this.#texts.has(path)) return this.#texts.get(path)
    const found = findInProject(this.#root, path)
    if (!("real" in found)) return undefined
    try {
      const stamp = stampOf(statSync(found.real))
      const bytes = readRegularFile(found.real, sourceBytes)
      if (bytes === null) return undefined
      this.#texts.set(path, bytes)
      this.#stamps.set(path, stamp)
      return bytes
    } catch {
      return undefined
    }
  }

  /** Whether a file has been found like this for a while. */
  #isQuiet(name: string, file: FoundFile | null, ms: number, now: number): boolean {
    const seen = this.#sightings.get(name)
    if (seen !== undefined && seen.file?.stamp === file?.stamp) return now - seen.since >= ms
    this.#sightings.set(name, { file, since: now })
    return false
  }

  /** Looks at the changed files alone, to see whether they are still as they were. */
  async #lookAtChanged(): Promise<void> {
    const now = performance.now()
    for (const [name, { file, since }] of this.#sightings) {
      // A file that is missing, or that is another file now, needs a scan of the whole folder.
      if (file === null || (await currentStamp(file.path)) !== file.stamp) return this.#rescan()
      if (now - since >= quietMs && this.#stamps.get(name) !== file.stamp) await this.#take(file, "quiet")
    }
    this.#lookAgain(now)
  }

  async #take(file: FoundFile, when: "now" | "quiet"): Promise<void> {
    if (await this.#read(file, when)) await this.#reload(file)
  }

  /** Takes the bytes of a file in; false where it is not to be compiled now. */
  async #read(file: FoundFile, when: "now" | "quiet"): Promise<boolean> {
    const { name, path, stamp } = file
    const read = await readWorkflow(path, this.#root)
    if (read === null) return false
    // Written to while it was read: looked at again.
    if (when === "quiet" && (await currentStamp(path)) !== stamp) return false
    if (!(read instanceof Uint8Array)) {
      this.#texts.delete(pathOf(name))
      this.#settle(file, read, null)
      return false
    }
    if (when === "quiet" && looksHalfWritten(read)) {
      const since = this.#sightings.get(name)?.since ?? performance.now()
      if (performance.now() - since < this.#halfWrittenMs) return false
    }
    this.#texts.set(pathOf(name), read)
    return true
  }

  /**
   * Compiles a changed file and all workflows that use it. They change together: if one of them has errors, all keep what they
   * serve until it has none.
   */
  async #reload(file: FoundFile): Promise<void> {
    const { name, path, stamp } = file
    if (candidateOf(name) !== null) return this.#reloadCandidate(file)
    if (isCodePath(name) && stamp !== "") {
      this.#stamps.set(name, stamp)
      this.#sightings.delete(name)
    }
    const group = this.#together(name)
    const outcomes = new Map<string, LoadOutcome>()
    for (const one of group) outcomes.set(one, await this.#compiled(one))
    const holds = group.size > 1 && [...outcomes.values()].some(isWrong)
    for (const [one, outcome] of outcomes) {
      const own = one === name ? stamp : (this.#stamps.get(one) ?? "")
      this.#settleOutcome({ name: one, path, stamp: own }, outcome, holds)
      if (holds) this.#held.add(one)
      else this.#held.delete(one)
    }
    for (const [of, { uses }] of this.#candidates) {
      if (of !== name && !group.has(of) && !uses.has(pathOf(name))) continue
      const candidate = nameOfCandidate(of)
      await this.#reloadCandidate({ name: candidate, path: "", stamp: this.#stamps.get(candidate) ?? "" })
    }
  }

  /** Its errors hold nothing back. */
  async #reloadCandidate({ name, stamp }: FoundFile): Promise<void> {
    const workflow = candidateOf(name) ?? name
    const bytes = this.#texts.get(pathOf(name))
    const before = this.#candidates.get(workflow)
    if (bytes === undefined) {
      if (!this.#candidates.delete(workflow)) return
      this.#options.tell(workflow, `The candidate of ${workflow} is gone: its file was deleted or renamed`, "info")
      return this.#changed()
    }
    const current = this.#workflows.get(workflow)
    const others = (path: string): Buffer | undefined => this.#textOf(path)
    const loaded = await loadCandidate(bytes, pathOf(name), others, this.#options.compiler, current && current.serving)
    this.#stamps.set(name, stamp)
    this.#sightings.delete(name)
    this.#candidates.set(workflow, { ...loaded, uses: loaded.loaded?.uses ?? before?.uses ?? new Set() })
    this.#changed()
    if (before?.digest === loaded.digest && before.issues.length === loaded.issues.length) return
    if (loaded.release.shadow > 0 && this.#options.makesShadows !== true) {
      const sentence = `The candidate of ${workflow} asks for shadows, and none is made: WIRE_SHADOW_COST_PER_DAY is 0`
      this.#options.tell(workflow, sentence, "info")
    }
    if (loaded.loaded === null) this.#tellIssues(name, loaded.issues)
    else this.#options.tell(workflow, `The workflow ${workflow} has a candidate: ${loaded.version ?? ""}`, "info")
  }

  /** A file and the workflows that use it, with those that wait for another one of them to be right. */
  #together(name: string): ReadonlySet<string> {
    const users = this.#usersOf(pathOf(name))
    const group = new Set(this.#texts.has(pathOf(name)) ? [name, ...users] : users)
    if ([...group].some((one) => this.#held.has(one))) for (const one of this.#held) group.add(one)
    return new Set([...group].filter((one) => !isCodePath(one) && this.#texts.has(pathOf(one))))
  }

  #usersOf(path: string): string[] {
    return [...this.#workflows.values()].flatMap(({ name, serving, broken }) => {
      return (broken ?? serving)?.uses.has(path) === true || serving?.uses.has(path) === true ? [name] : []
    })
  }

  #compiled(name: string): Promise<LoadOutcome> {
    const bytes = this.#texts.get(pathOf(name)) ?? Buffer.alloc(0)
    return loadWorkflow(bytes, pathOf(name), (path) => this.#textOf(path), this.#options.compiler)
  }

  #settleOutcome(file: FoundFile, outcome: LoadOutcome, holds: boolean): void {
    if ("issue" in outcome) this.#settle(file, outcome.issue, outcome.version)
    else if (isBlank(outcome.loaded.source) && this.#workflows.get(file.name)?.serving?.described.empty === false)
      this.#settle(file, emptyIssue, outcome.loaded.version)
    else if (isHiddenName(file.name) || this.#isLibrary(file.name, outcome.loaded)) {
      this.#takeAway(file.name, file.stamp)
    } else this.#settleLoaded(file, outcome.loaded, holds)
  }

  /** A workflow may have lost its output to a mistake: it is a library only once its file has no errors. */
  #isLibrary(name: string, { described }: LoadedWorkflow): boolean {
    return described.empty && (described.valid || !this.#workflows.has(name))
  }

  #settleLoaded({ name, stamp }: FoundFile, loaded: LoadedWorkflow, holds: boolean): void {
    const { whyNoTriggers = null, maxRunMs = Number.POSITIVE_INFINITY } = this.#options
    const refusal = whyNoTriggers !== null && loaded.described.triggers.length > 0 ? triggerIssue(whyNoTriggers) : null
    const valid = loaded.described.valid && refusal === null
    const long = longerThanAllowed(loaded.described.timeSeconds ?? undefined, maxRunMs)
    const warning: WorkflowIssue | null = long && { code: "workflow-time", severity: "warning", ...long }
    const issues = [...loaded.described.issues, ...[refusal, warning].filter((issue) => issue !== null)]
    const before = this.#workflows.get(name)
    const changes = valid && (!holds || before === undefined)
    this.#set(name, stamp, {
      name,
      serving: changes ? loaded : (before?.serving ?? null),
      broken: valid ? null : loaded,
      version: loaded.version,
      issues,
      refused: false,
    })
    if (!this.#loaded) return
    if (!valid) this.#tellIssues(name, issues)
    else if (changes && before?.serving?.version !== loaded.version) {
      this.#options.tell(name, `The workflow ${name} has a new version: ${loaded.version}`, "info")
      this.#tellOpen(name, loaded)
    }
  }

  #settle({ name, stamp }: FoundFile, issue: WorkflowIssue, version: string | null): void {
    const ofCandidate = candidateOf(name)
    if (ofCandidate !== null) return this.#refuseCandidate(ofCandidate, stamp, issue)
    if (isHiddenName(name) || isCodePath(name)) return this.#takeAway(name, stamp)
    const before = this.#workflows.get(name)
    const serving = before?.serving ?? null
    this.#set(name, stamp, { name, serving, broken: null, version, issues: [issue], refused: false })
    if (this.#loaded) this.#tellIssues(name, [issue])
  }

  /** It cannot be read. */
  #refuseCandidate(workflow: string, stamp: string, issue: WorkflowIssue): void {
    const name = nameOfCandidate(workflow)
    this.#stamps.set(name, stamp)
    this.#sightings.delete(name)
    this.#candidates.set(workflow, { ...unreadCandidate, issues: [issue] })
    this.#changed()
    this.#tellIssues(name, [issue])
  }

  #set(name: string, stamp: string, workflow: NamedWorkflow): void {
    this.#workflows.set(name, workflow)
    this.#stamps.set(name, stamp)
    this.#sightings.delete(name)
    this.#changed()
  }

  /** A file without a step or an output: it is known, and not served. */
  #takeAway(name: string, stamp: string): void {
    this.#stamps.set(name, stamp)
    this.#sightings.delete(name)
    if (!this.#workflows.delete(name)) return
    this.#changed()
    this.#options.tell(name, `The workflow ${name} no longer has a step or an output, so it is not served`, "info")
  }

  #takeRefused({ refused }: FolderScan): void {
    for (const { name, issue } of refused) {
      const before = this.#workflows.get(name)
      if (before?.refused === true && before.issues[0]?.message === issue.message) continue
      this.#stamps.delete(name)
      const workflow = { name, serving: null, broken: null, version: null, issues: [issue], refused: true }
      this.#workflows.set(name, workflow)
      this.#changed()
      if (this.#loaded) this.#tellIssues(name, [issue])
    }
  }

  /** The names of files that are gone. */
  #dropGone({ files, hidden, refused, candidates }: FolderScan, now: number): string[] {
    const gone = new Set<string>()
    const there = new Set([...files, ...hidden, ...refused, ...candidates].map(({ name }) => name))
    for (const name of [...this.#workflows.keys(), ...this.#stamps.keys()]) {
      if (there.has(name) || !this.#isQuiet(name, null, goneMs, now)) continue
      this.#stamps.delete(name)
      this.#sightings.delete(name)
      this.#texts.delete(pathOf(name))
      this.#held.delete(name)
      gone.add(name)
      if (!this.#workflows.delete(name)) continue
      this.#changed()
      this.#options.tell(name, `The workflow ${name} is gone: its file was deleted or renamed`, "info")
    }
    return [...gone]
  }

  #changed(): void {
    this.#shown = null
    for (const listener of this.#listeners) listener()
  }

  /** Strangers can make such an agent act: an operator should know. */
  #tellOpen(name: string, { described: { open } }: LoadedWorkflow): void {
    const [first] = open
    if (first === undefined) return
    const others = open.length === 1 ? "" : ` (and ${open.length - 1} more)`
    const text = `${first}${others} reads what strangers may have written and uses tools that may act; wire reach says more`
    this.#options.tell(name, `The workflow ${name} is open: ${text}`, "info")
  }

  #tellIssues(name: string, issues: readonly AnyIssue[]): void {
    for (const { severity, code, message } of issues.slice(0, 5)) {
      if (severity === "warning" && !code.startsWith("workflow-")) continue
      this.#options.tell(name, `The workflow ${name}: ${message} (${code})`, "error")
    }
  }

  /** Waits until the first of the watched files may be quiet. */
  #lookAgain(now: number): void {
    if (this.#sightings.size === 0 || this.#closed) return
    let wait = this.#halfWrittenMs
    for (const { file, since } of this.#sightings.values()) {
      const age = now - since
      const due = file === null ? goneMs : age < quietMs ? quietMs : this.#halfWrittenMs
      wait = Math.min(wait, Math.max(5, due - age))
    }
    if (this.#again !== null) clearTimeout(this.#again)
    this.#again = setTimeout(() => this.#look(() => this.#lookAtChanged()), wait).unref()
  }

  #watchAll({ folders }: FolderScan): void {
    const there = new Set(folders)
    for (const [path, watcher] of this.#watchers) {
      if (there.has(path)) continue
      watcher.close()
      this.#watchers.delete(path)
    }
    for (const path of folders) {
      if (this.#watchers.has(path)) continue
      try {
        const watcher = watch(path, { persistent: false }, () => this.#look())
        watcher.on("error", () => {
          watcher.close()
          this.#watchers.delete(path)
        })
        this.#watchers.set(path, watcher)
      } catch {
        // Out of watches: the folder is looked at every now and then.
      }
    }
  }
}

function pathOf(name: string): string {
  return isCodePath(name) ? name : `${name}.wire`
}

function isWrong(outcome: LoadOutcome): boolean {
  return "issue" in outcome || !outcome.loaded.described.valid
}

/** Half a copy, or a full disk: nobody ends a workflow so. */
const emptyIssue: WorkflowIssue = {
  code: "workflow-empty",
  severity: "error",
  path: "",
  message: "The file is empty",
  hint: "Delete it to end the workflow.",
}

/** Nothing but blanks and comments. */
function isBlank(source: string): boolean {
  return source.split(/[\r\n]+/).every((line) => /^[\uFEFF\s]*(?:$|\/\/)/.test(line))
}

function triggerIssue(message: string): WorkflowIssue {
  return { code: "workflow-trigger", severity: "error", path: "", message }
}

function looksHalfWritten(bytes: Uint8Array): boolean {
  return bytes.at(-1) !== 0x0a
}
