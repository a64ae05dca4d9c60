import { computed, signal } from "@preact/signals"
import type { Program } from "../../src/check/program.ts"
import type { Compiled } from "../../src/compile.ts"
import { compile } from "../../src/compile.ts"
import type { Plan } from "../../src/plan/plan-shape.ts"
import type { SourceFiles } from "../../src/source/source-files.ts"
import { isError } from "../../src/source/diagnostic.ts"
import { LineMap } from "../../src/source/line-map.ts"

/** What the page knows about a text: the same as the service would. */
export interface Compilation extends Compiled {
  readonly text: string
  readonly lines: LineMap
}

/** Where the text in the editor came from. What came by a link asks before its first run. */
export type Origin = "own" | "link"

export const origin = signal<Origin>("own")
/** Whether what came by a link has been run since: then it need not be introduced any more. */
export const linkHasRun = signal(false)
/** The other files that the text uses. */
export const filesAround = signal<SourceFiles>({})
/** The one of them that the editor shows; null while it shows the text itself. */
export const shownPart = signal<string | null>(null)
export const compilation = signal(compileText(""))
/** The newest text that has a plan: what the graph shows while the author is in the middle of a word. */
export const lastGood = signal<{ readonly text: string; readonly plan: Plan; readonly program?: Program }>({
  text: "",
  plan: emptyPlan(),
})
export const errorCount = computed(() => compilation.value.diagnostics.filter(isError).length)

function compileText(text: string): Compilation {
  return { ...compile(text, filesAround.peek()), text, lines: new LineMap(text) }
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
let lastCost = 0

/** Reports a change of the editor's text. It is compiled once the author pauses, sooner if that is cheap. */
export function sourceChanged(read: () => string): void {
  pending = read
  clearTimeout(timer)
  timer = setTimeout(compileNow, Math.max(80, Math.min(800, lastCost * 5)))
}

/** The same for one of the other files. */
export function partChanged(path: string, read: () => string): void {
  pendingPart = { path, read }
  clearTimeout(timer)
  timer = setTimeout(compileNow, Math.max(80, Math.min(800, lastCost * 5)))
}

/** The compilation of what is in the editor at this moment. */
export function compileNow(): Compilation {
  clearTimeout(timer)
  if (pending !== undefined) {
    const text = pending()
    pending = undefined
    if (text !== compilation.value.text) takeText(text)
  }
  if (pendingPart !== undefined) {
    const { path, read } = pendingPart
    pendingPart = undefined
    const { modules = {}, ...rest } = filesAround.peek()
    if (Object.hasOwn(modules, path)) setFiles({ ...rest, modules: { ...modules, [path]: read() } })
  }
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
  const started = performance.now()
  const next = compileText(text)
  lastCost = performance.now() - started
  compilation.value = next
  if (next.plan !== undefined) lastGood.value = { text, plan: next.plan, program: next.program }
}
