import { batch, computed, signal } from "@preact/signals"
import type { JsonObject } from "../../src/base/json-value.ts"
import { editor } from "./editor-port.ts"
import { currentInput, setInput } from "../form/input.ts"
import { dismissAll } from "../page/notices.ts"
import type { OptionTexts } from "../form/options.ts"
import { optionTexts, defaultOptions } from "../form/options.ts"
import type { RunView } from "../shown-run/run-view.ts"
import { graphOf, liveRun, shownRun } from "../shown-run/shown-run.ts"
import { forgetSecrets, forgetSecretsOf, hasSecrets, swapSecrets } from "../form/secrets.ts"
import { openedCalls } from "./opened-calls.ts"
import { selection } from "../shown-run/selection.ts"
import type { SourceFiles } from "../../src/source/source-files.ts"
import type { Served } from "../service/served.ts"
import { served } from "../service/served.ts"
import type { Origin } from "../language/text-origin.ts"
import {
  compilation,
  compileNow,
  filesAround,
  linkHasRun,
  origin,
  setFiles,
  shownPart,
  takeText,
} from "../language/source.ts"

/** What a file consists of: source, input and all that belongs to them, but no secrets. */
export interface FileContent {
  readonly name: string
  readonly source: string
  readonly input: JsonObject
  readonly options: OptionTexts
  readonly origin: Origin
  readonly served: Served | null
  /** The other files that it uses. */
  readonly around: SourceFiles
  /** The author opened it from a disk: nothing else takes its place. */
  readonly isLocal: boolean
}

interface OpenFile {
  readonly id: string
  /** The shown file as it was when it was opened. */
  readonly content: FileContent
  /** The content without edits; null for a file that was edited before the page was loaded. */
  readonly original: string | null
}

export const files = signal<readonly OpenFile[]>([])
/** The id of the file that editor, form and graph show. */
export const activeFile = signal("")
export const fileName = signal("Hello")

let lastId = 0
/** What each file that is not shown has run. */
const runs = new Map<string, RunView>()

function currentContent(): FileContent {
  return {
    name: fileName.value,
    source: compilation.value.text,
    input: currentInput(),
    options: optionTexts.value,
    origin: origin.value,
    served: served.value,
    around: filesAround.value,
    isLocal: shownFile()?.content.isLocal ?? false,
  }
}

function shownFile(): OpenFile | undefined {
  return files.value.find(({ id }) => id === activeFile.value)
}

function markOf({ name, source, input, options, around }: FileContent): string {
  return JSON.stringify([name, source, input, options, around.modules ?? {}])
}

/** Whether the shown file has edits that are nowhere else. */
export const isEdited = computed(() => {
  const file = shownFile()
  return file !== undefined && file.original !== markOf(currentContent())
})

/** Whether a file has edits, shown or not. */
export function hasEdits(id: string): boolean {
  if (id === activeFile.value) return isEdited.value
  const file = files.value.find((one) => one.id === id)
  return file !== undefined && file.original !== markOf(file.content)
}

/** Every file as it is now. */
export function allContents(): { readonly id: string; readonly content: FileContent; readonly isEdited: boolean }[] {
  return files.value.map(({ id, content }) => ({
    id,
    content: id === activeFile.value ? currentContent() : content,
    isEdited: hasEdits(id),
  }))
}

/** What a file is opened with; all but name, source and input has a default. */
export type NewContent = Pick<FileContent, "name" | "source" | "input"> &
  Partial<Pick<FileContent, "origin" | "served" | "around" | "isLocal">> & { readonly options?: Partial<OptionTexts> }

function complete({ options, ...given }: NewContent): FileContent {
  return {
    origin: "own",
    served: null,
    around: {},
    isLocal: false,
    ...given,
    options: { ...defaultOptions, ...options },
  }
}

/**
 * Opens a file: in the place of the shown one, if that has no edits and is not from a disk, else beside it. In its place is one
 * step in the editor's history, and undoing that brings back name and input as well. What came by a link gets none of the secrets
 * that were typed for another file.
 */
export function openFile(given: NewContent, edited = false): void {
  const content = complete(given)
  const port = editor()
  // With what was typed a moment ago.
  compileNow()
  const before = files.value.length === 0 ? undefined : currentContent()
  const staysOpen = before === undefined || before.isLocal || isEdited.value
  if (port === undefined || staysOpen || (content.origin === "link" && hasSecrets())) {
    addFile({ ...content, name: freeName(content.name) }, edited)
    return
  }
  dismissAll()
  batch(() => {
    runs.delete(activeFile.value)
    port.replace(content.source, { apply: () => takeUp(content), revert: () => takeUp(before) })
    compileNow()
    takeUp(content)
    if (liveRun.value === null) shownRun.value = null
    graphOf.value = "other"
  })
}

/** Name, input and the rest of what belongs to a text that is in the editor already. */
function takeUp(content: FileContent): void {
  batch(() => {
    compileNow()
    setFiles(content.around)
    if (content.origin === "link") forgetSecrets()
    fileName.value = freeName(content.name, activeFile.value)
    setInput(content.input)
    optionTexts.value = content.options
    origin.value = content.origin
    linkHasRun.value = false
    served.value = content.served
    selection.value = null
    openedCalls.value = []
    shownPart.value = null
    settle(content, false)
  })
}

/** The shown file as it is now is the one without edits. */
function settle(content: FileContent, edited: boolean): void {
  const original = edited ? null : markOf(currentContent())
  files.value = files.value.map((file) => (file.id === activeFile.value ? { ...file, content, original } : file))
}

function addFile(content: FileContent, edited: boolean): void {
  const id = `file-${++lastId}`
  leave()
  files.value = [...files.value, { id, content, original: null }]
  enter(id, content)
  settle(content, edited)
}

/** Keeps what the shown file consists of, before another one is shown. */
function leave(): void {
  const id = activeFile.value
  if (!files.value.some((file) => file.id === id)) return
  compileNow()
  const content = currentContent()
  files.value = files.value.map((file) => (file.id === id ? { ...file, content } : file))
  const run = shownRun.value
  if (run !== null && graphOf.value !== "other") runs.set(id, run)
  else runs.delete(id)
}

function enter(id: string, content: FileContent): void {
  dismissAll()
  const run = runs.get(id) ?? null
  batch(() => {
    swapSecrets(activeFile.value, id)
    activeFile.value = id
    editor()?.open(id, content.source)
    filesAround.value = content.around
    takeText(content.source)
    fileName.value = content.name
    setInput(content.input)
    optionTexts.value = content.options
    origin.value = content.origin
    linkHasRun.value = run !== null
    served.value = content.served
    selection.value = null
    openedCalls.value = []
    shownPart.value = null
    // A run that goes on stays in view, whatever is edited meanwhile.
    if (liveRun.value === null || run === liveRun.value) shownRun.value = run
  })
  // After the effects of showing a run.
  graphOf.value = run === null ? "other" : run.request.source === content.source ? "run" : "edited"
}

export function showFile(id: string): void {
  const file = files.value.find((one) => one.id === id)
  if (file === undefined || id === activeFile.value) return
  leave()
  enter(id, file.content)
}

/** A name that no other open file has: the wanted one, or `Hello 2`. */
function freeName(wanted: string, except?: string): string {
  let name = wanted
  for (let at = 2; isTaken(name, except); at++) name = `${wanted} ${at}`
  return name
}

/** Case makes no difference: on many disks it would be the same file. */
function isTaken(name: string, except?: string): boolean {
  return files.value.some(({ id, content }) => {
    const other = id === activeFile.value ? fileName.value : content.name
    return id !== except && other.toLowerCase() === name.toLowerCase()
  })
}

/** Gives the shown file another name, as one step that can be undone; a sentence when that cannot be. */
export function renameFile(given: string): string | undefined {
  const id = activeFile.value
  const name = given.trim().replace(/\.wire$/, "")
  if (name === "") return "A file needs a name."
  if (isTaken(name, id)) return `Another open file is called ${name}. Choose another name.`
  const before = fileName.value
  if (name === before) return undefined
  const take = (next: string) => () => {
    fileName.value = freeName(next, id)
  }
  editor()?.replace(compileNow().text, { apply: take(name), revert: take(before) })
  fileName.value = name
  return undefined
}

export function newFile(): void {
  addFile(complete({ name: freeName("Untitled"), source: "", input: {} }), false)
  editor()?.focus()
}

/** Closes a file with its edits; the caller has asked the user. The last file stays. */
export function closeFile(id: string): void {
  const at = files.value.findIndex((file) => file.id === id)
  const next = files.value[at + 1] ?? files.value[at - 1]
  if (at < 0 || next === undefined) return
  if (id === activeFile.value) showFile(next.id)
  files.value = files.value.filter((file) => file.id !== id)
  runs.delete(id)
  forgetSecretsOf(id)
  editor()?.forget(id)
}
