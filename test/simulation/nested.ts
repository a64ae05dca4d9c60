import type { SourceText } from "../../src/source/source-files.ts"
import { levelsOf } from "../../src/plan/call-scope.ts"
import { digest } from "./simulated-model.ts"

/** How a workflow is called: once, for each item of a list, in rounds, or by a model. */
type Shape = "call" | "list" | "repeat" | "model"

const shapes: readonly Shape[] = ["list", "repeat", "model"]

/** The text that decides about the calls: without the instructions, which an edit changes, and without what refuses answers. */
function decidingText(source: string): string {
  return source.replace(/instruction: .*/g, "").replace(/^ +require result\.go .*\n/gm, "")
}

/**
 * The calls around a workflow when its run is asked for, the outermost first: its text decides. What is promised of its steps is the same in each call.
 */
function shapesAround(source: string): readonly Shape[] {
  const text = decidingText(source)
  const plain: readonly (readonly Shape[])[] = [["call", "call"], ["call"], ["call"]]
  const once = plain[digest(text) % 16]
  if (once !== undefined) return once
  // With this number, the histories that find rare planted bugs stay as they were.
  const decides = digest(`14381 ${text}`)
  const [outer, inner] = [shapes[(decides >>> 8) % 3] ?? "list", shapes[(decides >>> 16) % 3] ?? "list"]
  const others: readonly (readonly Shape[])[] = [["list"], ["repeat"], ["model"], [outer, inner]]
  return others[decides % 16] ?? []
}

/**
 * Each call has an `id` of its own, which all texts of its steps begin with: that of the run, and a part for each level where more than one
 * call is made. The result is `r`.
 */
const declarations: Readonly<Record<Shape, (decides: number) => readonly string[]>> = {
  call: () => ["dynamic { r: call workflow.inner { input { id: input.id  items: input.items } } }"],
  list: (decides) => [
    `dynamic { r: [call workflow.inner {`,
    `    input { id: "{{ input.id }}@{{ part }}"  items: input.items }`,
    ...(decides % 3 === 0 ? ["    on_failure: skip"] : []),
    `} for part in ["0", "1"]] }`,
  ],
  repeat: (decides) => [
    `dynamic { r: repeat workflow.inner {`,
    `    input { id: "{{ input.id }}@0"  items: input.items }`,
    `    until: round == ${1 + (decides % 4)} && length("{{ result }}") > 0`,
    `    next { id: "{{ input.id }}@{{ round }}" }`,
    `    at_most: 3`,
    `} }`,
  ],
  model: (decides) => [
    `provider p from openai { endpoint: "http://models.test/v1" }`,
    `model m from p { id: "m"  price { input: 1  output: 2 } }`,
    `agent host {`,
    `    model: model.m`,
    `    uses: [workflow.inner { max_calls: 2, bindings { items: input.items }${decides % 4 === 0 ? ", approval { expires_seconds: 30 }" : ""} }]`,
    ...(decides % 5 === 0 ? [`    limits { model_calls: ${4 + (decides % 9)} }`] : []),
    `    instruction: "{{ input.id }} agent.host"`,
    `    output { text: string  n: integer  ok: boolean  mood: enum { good, bad } }`,
    `}`,
  ],
}

/** Some callers ask as well, under a name that the called workflow may have for its own question. */
const question = [
  `ask q0 {`,
  `    question: "{{ input.id }} ask.q0"`,
  `    expires_seconds: 40`,
  `    on_expiry: { go: false, note: "expired" }`,
  `    output { go: boolean  note: maybe string }`,
  `}`,
]

function caller(source: string, file: string, shape: Shape): string {
  const secret = source.includes("secrets {")
  const decides = digest(`${decidingText(source)} ${file}`)
  const asks = shape !== "call" && decides % 7 < 3
  return [
    "input { id: string  items: [string] }",
    ...(secret ? ["secrets { token: string }"] : []),
    `workflow inner from "./${file}" {${secret ? " secrets { token: secrets.token } " : ""}}`,
    ...declarations[shape](decides),
    ...(asks ? question : []),
    `output { r: ${shape === "model" ? "agent.host" : "dynamic.r"}${asks ? "  q0: ask.q0" : ""} }`,
  ].join("\n")
}

/** What a client sends: the workflow, or one that calls it. */
export function sentSource(source: string): SourceText {
  const around = shapesAround(source).toReversed()
  const texts = [source]
  for (const [level, shape] of around.entries()) texts.push(caller(source, `level${level}.wire`, shape))
  const sent = texts.pop() ?? source
  return texts.length === 0
    ? { source: sent }
    : { source: sent, modules: Object.fromEntries(texts.map((text, level) => [`level${level}.wire`, text])) }
}

/** A step of the workflow, as the run knows it: that of the first call where there are more. */
export function sentStep(source: string, step: string): string {
  const scopes = { call: "dynamic.r", list: "dynamic.r[0]", repeat: "dynamic.r[0]", model: "agent.host#1" }
  return [...shapesAround(source).map((shape) => `inner@${scopes[shape]}`), step].join("/")
}

/** Whether the workflow of a job runs in a scope, not one of those that call it. */
export function isInnermost(source: string, scope: string | null): boolean {
  return (scope === null ? 0 : levelsOf(scope)) === shapesAround(source).length
}

/** What of the language the calls around a workflow use, as it is counted. */
export function nestedFeatures(source: string): string[] {
  const around = shapesAround(source)
  const { source: outermost, modules = {} } = sentSource(source)
  const callers = [outermost, ...Object.values(modules)].filter((text) => text !== source).join("\n")
  return [
    ...around.map((shape) => calls[shape]),
    ...(around.length > 1 ? ["calls within each other"] : []),
    ...(callers.includes("ask q0") ? ["a question of a caller"] : []),
    ...(callers.includes("approval") ? ["an approval of a workflow"] : []),
    ...(callers.includes("limits") ? ["limits of an agent that calls a workflow"] : []),
  ]
}

const calls: Readonly<Record<Shape, string>> = {
  call: "a called workflow",
  list: "a list of called workflows",
  repeat: "a workflow that is repeated",
  model: "a workflow that a model calls",
}

/** The names of what `nestedFeatures` counts. */
export const allNestedFeatures: readonly string[] = [
  ...Object.values(calls),
  "calls within each other",
  "a question of a caller",
  "an approval of a workflow",
  "limits of an agent that calls a workflow",
]

/** The scope of the round before; null for the first, and for a call that is no round. */
export function roundBefore(source: string, scope: string): string | null {
  const [, before = "", round = "0"] = /^(.*)\[(\d+)\]$/.exec(scope) ?? []
  return shapesAround(source)[levelsOf(scope) - 1] === "repeat" && round !== "0"
    ? `${before}[${Number(round) - 1}]`
    : null
}
