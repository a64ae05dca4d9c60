import type { Program } from "../check/program.ts"
import { usageType } from "../check/usage-type.ts"
import { runType } from "../check/run-values.ts"
import { stepKinds, stepNames, type StepKind } from "../check/tested-step.ts"
import type { Span } from "../source/span.ts"
import { eachObserved } from "../syntax/each-chain.ts"
import { namesIn } from "../syntax/property-table.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { Completion, Completions } from "./completion.ts"
import type { DefinitionTarget } from "./definition.ts"
import { describe } from "./describe.ts"
import type { Hover } from "./hover.ts"
import type { Target } from "./targets.ts"

// What the editor says of test files about the workflow that they test.

/** What could be written at an offset of a test; undefined where the test file is like any other. */
export function completeTest(program: Program, tested: Program | undefined, offset: number): Completions | undefined {
  const { text } = program.tree
  const line = text.slice(text.lastIndexOf("\n", offset - 1) + 1, offset)
  const word = endOf(line, /\w/)
  const span = { start: offset - word.length, end: offset + (/^\w*/.exec(text.slice(offset))?.[0].length ?? 0) }
  const items = itemsAfter(program, tested, line.slice(0, line.length - word.length), offset)
  return items === undefined || items.length === 0 ? undefined : { span, items }
}

/** The characters of a kind that a text ends with. Not by a pattern: one that looks for an end tries every place before it. */
function endOf(text: string, character: RegExp): string {
  let start = text.length
  while (start > 0 && character.test(text.charAt(start - 1))) start--
  return text.slice(start)
}

/** The path that a text ends with, `workflow.triage.agent.`: the names of called files, and the kind of step after them. */
function pathBefore(text: string): { files: string[]; word: string | undefined } {
  const parts = endOf(text, /[\w.]/).split(".").slice(0, -1)
  const files = calledFiles(parts)
  const word = parts.at(-1)
  if (word !== "workflow" && !stepKinds.some((kind) => kind === word)) return { files, word: undefined }
  const before = calledFiles(parts.slice(0, -1))
  return files.length > before.length ? { files, word: undefined } : { files: before, word }
}

/** The names in the pairs `workflow`, name that a path ends with. */
function calledFiles(parts: readonly string[]): string[] {
  const names: string[] = []
  for (let at = parts.length - 2; parts[at] === "workflow"; at -= 2) names.unshift(parts[at + 1] ?? "")
  return names
}

const observed = ["ran", "skipped", "asked", "calls", "called", "calls_of", "rejections"]
const observing = ["given", ...observed]

function itemsAfter(
  program: Program,
  tested: Program | undefined,
  before: string,
  offset: number,
): Completion[] | undefined {
  const { files, word } = pathBefore(before)
  const called = tested === undefined ? undefined : calledBy(tested, files)
  const found = stepKinds.find((each) => each === word)
  if (found !== undefined) return called === undefined ? [] : stepItems(called, found)
  if (word === "workflow") return [...(called?.workflows.keys() ?? [])].map((name) => item(name, "workflow"))
  if (files.length > 0) return rootsOf(called)
  const [, root] = /\b(output|input|usage|error|run)\.$/.exec(before) ?? []
  if (root === "output" || root === "input") {
    return (tested?.[root]?.type.fields ?? []).map(({ name }) => item(name, "field"))
  }
  if (root === "usage") {
    return usageType.fields.map(({ name }) => item(name, "field"))
  }
  if (/\bgiven run\.$/.test(before)) return [item("started_at", "field", "started_at: ")]
  if (root === "run") return runType.fields.map(({ name }) => item(name, "field"))
  if (root === "error") return ["kind", "message", "issues"].map((name) => item(name, "field"))
  const inside = program.tree.declarations.some(
    ({ kind: of, start, end }) => of === "test" && start < offset && offset <= end,
  )
  if (!inside) return before.trim() === "" ? topLevel : undefined
  const written = before.trimEnd()
  const last = written.length < before.length ? endOf(written, /\w/) : ""
  if (observing.includes(last)) {
    const steps = rootsOf(tested)
    return last === "given" ? [...steps, item("run", "root", "run.")] : steps
  }
  if (last === "expect" || /(?:&&|\|\||!|\()$/.test(written)) return expected
  return before.trim() === "" ? settings : undefined
}

/** What a path of called files leads to: `workflow.triage.` */
function calledBy(tested: Program, files: readonly string[]): Program | undefined {
  let program: Program | undefined = tested
  for (const name of files) program = program?.workflows.get(name)?.program
  return program
}

function rootsOf(program: Program | undefined): Completion[] {
  const kinds = program === undefined || program.workflows.size === 0 ? stepKinds : [...stepKinds, "workflow"]
  return kinds.map((each) => item(each, "root", `${each}.`))
}

function item(label: string, kind: Completion["kind"], insert = label, snippet?: string): Completion {
  return { label, kind, insert, ...(snippet === undefined ? {} : { snippet }) }
}

const topLevel: Completion[] = [
  item(
    "test",
    "keyword",
    "test ",
    'test "${1:what it does}" {\n    input {\n        $2\n    }\n\n    expect ${3:output}\n}',
  ),
  item("tests", "keyword", "tests ", 'tests "./${1:workflow}.wire"'),
  ...["provider", "model", "secrets", "schema"].map((word) => item(word, "keyword", `${word} `)),
]

const settings: Completion[] = [
  item("input", "keyword", "input ", "input {\n    $1\n}"),
  item("given", "keyword", "given "),
  item("expect", "keyword", "expect "),
  ...namesIn("test").map((name) => item(name, "property", `${name}: `)),
]

const expected: Completion[] = [
  ...["output", "agent", "ask", "wait", "input", "run", "usage", "error"].map((word) => item(word, "root", `${word}.`)),
  item("duration_ms", "root"),
  ...observed.map((word) => item(word, "keyword", `${word} `)),
  item("not", "keyword", "not called "),
  item("judge", "keyword", "judge ", 'judge model.${1:name} "${2:criterion}"'),
]

function stepItems(tested: Program, kind: StepKind): Completion[] {
  return [...stepNames(tested, kind)].map((name) => {
    const target = targetOf(tested, kind, name)
    const about = target === undefined ? undefined : describe(tested, target)
    return {
      ...item(name, kind),
      ...(about?.detail === undefined ? {} : { detail: about.detail }),
      ...(about?.doc === undefined ? {} : { doc: about.doc }),
    }
  })
}

/** How the workflow declares the step at the offset. */
export function hoverTest(program: Program, tested: Program, offset: number): Hover | undefined {
  const found = stepAt(program, tested, offset)
  if (found === undefined) return undefined
  const { code, doc } = describe(tested, found.target)
  return { span: found.span, code, ...(doc === undefined ? {} : { doc }) }
}

/** Where the workflow declares the step at the offset: spans of the workflow's text. */
export function defineTest(program: Program, tested: Program, offset: number): DefinitionTarget | undefined {
  const found = stepAt(program, tested, offset)
  if (found === undefined) return undefined
  const { name, node } = found.target
  return { name: { start: name.start, end: name.end }, span: { start: node.start, end: node.end } }
}

function stepAt(program: Program, tested: Program, offset: number): StepName | undefined {
  return stepNamesIn(program, tested).find(({ span }) => span.start <= offset && offset <= span.end)
}

/** A name in a test that refers to a step of the workflow. */
export interface StepName {
  /** `agent.writer` */
  readonly span: Span
  /** `writer` */
  readonly name: Syntax.Name
  readonly target: Target
}

export function stepNamesIn(program: Program, tested: Program): StepName[] {
  const found: StepName[] = []
  for (const test of program.tree.declarations) {
    if (test.kind !== "test") continue
    for (const chain of chainsOf(test)) {
      const { base } = chain
      const [step] = chain.steps
      if (base.kind !== "name" || step?.kind !== "field") continue
      const kind = stepKinds.find((each) => each === base.text)
      const target = kind && targetOf(tested, kind, step.name.text)
      if (target !== undefined) found.push({ span: { start: chain.start, end: step.end }, name: step.name, target })
    }
  }
  return found
}

/** The same for an offset in or beside the name itself. */
export function stepNameAt(program: Program, tested: Program, offset: number): StepName | undefined {
  return stepNamesIn(program, tested).find(({ name }) => name.start <= offset && offset <= name.end)
}

function chainsOf({ body }: Syntax.TestDeclaration): Syntax.Chain[] {
  const found: Syntax.Chain[] = []
  for (const item of body.items) {
    if (item.kind === "given") found.push(item.step)
    else if (item.kind === "expect") eachObserved(item.condition, (chain) => found.push(chain))
  }
  return found
}

function targetOf(tested: Program, kind: StepKind, name: string): Target | undefined {
  if (kind === "agent" || kind === "ask" || kind === "wait") {
    const node = { agent: tested.agents, ask: tested.asks, wait: tested.waits }[kind].get(name)?.declaration
    return node && { kind: "declaration", declares: kind, node, name: node.name }
  }
  const table = { tool: tested.tools, resource: tested.resources, prompt: tested.prompts }[kind]
  const symbol = table.get(name)
  return symbol && { kind: "declaration", declares: kind, node: symbol.node, name: symbol.name }
}
