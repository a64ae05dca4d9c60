import { batch, computed, signal } from "@preact/signals"
import { compile } from "../../src/compile.ts"
import type { Plan } from "../../src/plan/plan-shape.ts"
import { isCodePath } from "../../src/source/code-files.ts"
import type { SourceFiles } from "../../src/source/source-files.ts"
import { isError } from "../../src/source/diagnostic.ts"
import { LineMap } from "../../src/source/line-map.ts"
import type { Analysis, Source } from "./analysis.ts"
import { analysisOf, isSameSource } from "./analysis.ts"
import { ask } from "./ask.ts"
import type { Origin } from "./text-origin.ts"

/** What the page knows about a text: the same as the service would. */
export interface Compilation extends Analysis {
  readonly source: Source
  readonly lines: LineMap
}

export const origin = signal<Origin>("own")
/** Whether what came by a link has been run since: then it need not be introduced any more. */
export const linkHasRun = signal(false)
/** The other files that the text uses. */
export const filesAround = signal<SourceFiles>({})
/** The one of them that the editor shows; null while it shows the text itself. */
export const shownPart = signal<string | null>(null)
/** The newest compilations, so that what the worker has made, or a run was started with, is not compiled again. */
const known: Compilation[] = []
const maxKnown = 4
export const compilation = signal(compileText(""))
/** The newest text that has a plan: what the graph shows while the author is in the middle of a word. */
export const lastGood = signal<{ readonly text: string; readonly plan: Plan; readonly source?: Source }>({
  text: "",
  plan: emptyPlan(),
})
/** Its plan, which stays the same object while edits do not change it. */
export const lastPlan = computed(() => lastGood.value.plan)
/** The text has errors: the graph and the reach are those of an earlier text. */
export const isOutdated = computed(() => compilation.value.plan === undefined)
export const errorCount = computed(() => compilation.value.diagnostics.filter(isError).length)

function compileText(text: string): Compilation {
  return compilationOf({ text, ...filesAround.peek() })
}

/** Made by the worker, or here and now. */
export function compilationOf(source: Source): Compilation {
  return known.find((one) => isSameSource(one.source, source)) ?? keep(source, analysisOf(compile(source.text, source)))
}

function keep(source: Source, analysis: Analysis): Compilation {
  const made = { ...analysis, source, lines: new LineMap(source.text) }
  known.unshift(made)
  known.length = Math.min(known.length, maxKnown)
  return made
}

function emptyPlan(): Plan {
  const empty = { kind: "record", fields: [] } as const
  return {
    types: {},
    input: empty,
    secrets: empty,
    output: empty,
    providers: {},
    models: {},
    servers: {},
    tools: {},
    resources: {},
    prompts: {},
    limits: null,
    nodes: [],
  }
}

let pending: (() => string) | undefined
/** An edit of another file, likewise. */
let pendingPart: { readonly path: string; readonly read: () => string } | undefined
let timer: ReturnType<typeof setTimeout> | undefined
/** An author who types on is not checked after each letter. */
const pause = 80

/** Reports a change of the editor's text. It is checked once the author pauses. */
export function sourceChanged(read: () => string): void {
  pending = read
  checkSoon()
}

/** The same for one of the other files. */
export function partChanged(path: string, read: () => string): void {
  pendingPart = { path, read }
  checkSoon()
}

function checkSoon(): void {
  clearTimeout(timer)
  timer = setTimeout(() => void check(), pause)
}

/** The text as it is at this moment, with its files. */
function sourceNow(): Source {
  return { text: pending?.() ?? compilation.peek().text, ...filesNow() }
}

/** The file that the editor shows, likewise. */
export function shownSourceNow(): Source {
  const path = shownPart.peek()
  const source = sourceNow()
  return (path === null ? null : partSource(source, path)) ?? source
}

/** One of the other files as the one that is looked at; null where there is none, and for code. */
export function partSource({ text: main, file = "main.wire", modules = {} }: Source, path: string): Source | null {
  const { [path]: text, ...others } = modules
  return text === undefined || isCodePath(path) ? null : { text, file: path, modules: { ...others, [file]: main } }
}

function filesNow(): SourceFiles {
  const around = filesAround.peek()
  const { modules = {} } = around
  if (pendingPart === undefined || !Object.hasOwn(modules, pendingPart.path)) return around
  return { ...around, modules: { ...modules, [pendingPart.path]: pendingPart.read() } }
}

let checking: Promise<void> | null = null

/** Lets the worker check what is in the editor. */
function check(): Promise<void> {
  clearTimeout(timer)
  return (checking ??= checkAll().finally(() => (checking = null)))
}

/** An answer about a text that the author has changed meanwhile is dropped, and the new text is asked about. */
async function checkAll(): Promise<void> {
  while (pending !== undefined || pendingPart !== undefined) {
    const source = sourceNow()
    const path = shownPart.peek()
    const part = path === null ? null : partSource(source, path)
    const sources = [source, ...(part === null ? [] : [part])]
    const answered = await ask("analyse", sources).catch(() => null)
    if (!isSameSource(source, sourceNow())) continue
    for (const [at, { plan, types, ...analysis }] of (answered ?? []).entries()) {
      const of = sources[at]
      // On its way the table of types gets a prototype, whose names are names of schemas, too.
      const table = Object.assign(Object.create(null) as object, types)
      if (of !== undefined) keep(of, { ...analysis, types: table, plan: plan === undefined ? undefined : planOf(plan) })
    }
    // What there is no answer for is compiled here.
    compileNow()
  }
}

const newestPlans: { readonly text: string; readonly plan: Plan }[] = []

/** Most edits change no plan: then it stays the object that it was. */
function planOf(text: string): Plan {
  const found = newestPlans.find((one) => one.text === text) ?? { text, plan: JSON.parse(text) as Plan }
  if (!newestPlans.includes(found)) newestPlans.unshift(found)
  newestPlans.length = Math.min(newestPlans.length, maxKnown)
  return found.plan
}

/** The compilation of what is in the editor, made by the worker; at once where it is there. */
export function whenChecked(work: (now: Compilation) => void): void {
  if (pending === undefined && pendingPart === undefined) work(compilation.peek())
  else void check().then(() => work(compilation.peek()))
}

/** The compilation of what is in the editor at this moment; made here, unless the worker has. */
export function compileNow(): Compilation {
  clearTimeout(timer)
  const [{ text }, around] = [sourceNow(), filesNow()]
  pending = undefined
  pendingPart = undefined
  if (text === compilation.peek().text && around === filesAround.peek()) return compilation.value
  batch(() => {
    filesAround.value = around
    takeText(text)
  })
  return compilation.value
}

/** Whether a run had the files that there are now. */
export function hasSameFiles(around: SourceFiles | undefined): boolean {
  return JSON.stringify(around?.modules ?? {}) === JSON.stringify(filesAround.value.modules ?? {})
}

/** The same text among other files is compiled anew. */
export function setFiles(around: SourceFiles): void {
  if (JSON.stringify(around) === JSON.stringify(filesAround.peek())) return
  filesAround.value = around
  takeText(compilation.peek().text)
}

export function takeText(text: string): void {
  const next = compileText(text)
  compilation.value = next
  if (next.plan !== undefined) lastGood.value = { text, plan: next.plan, source: next.source }
}
