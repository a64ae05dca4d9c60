import type { JsonObject, JsonValue } from "../base/json-value.ts"
import type { Expression } from "../plan/expression.ts"
import type { Plan } from "../plan/plan-shape.ts"
import type { RunState } from "../log/run-state.ts"
import type { KnownText } from "./known-texts.ts"
import { knownTexts } from "./known-texts.ts"
import type { Origin } from "./origin.ts"
import { originOf } from "./origin.ts"

/** Where a phrase of a run's result came from. */
export interface WhereFrom {
  /** The fields of the output that have it, those that are nothing else first. None where it stands in no field as a whole. */
  readonly fields: readonly FieldWith[]
  /** Texts that could flow there and have its words; the first is the oldest. */
  readonly found: readonly FoundText[]
}

export interface FieldWith {
  /** `output.report` */
  readonly path: string
  /** What the field is made of, by the flow of data. Null where the plan is not known. */
  readonly made: Origin | null
}

export interface FoundText {
  readonly origin: Origin
  readonly span?: number
  /** The words that both have, where it is not the whole phrase. */
  readonly shared: string | null
}

const maxFound = 12
const maxFields = 4
const maxWords = 60
/** So many words in a row are hardly the same by chance. */
const fewestShared = 3

/** Letters only: how something is written differs between a value and a text about it. */
function plainWords(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, " ")
    .trim()
}

export function whereFrom(plan: Plan | null, input: JsonObject, state: RunState, phrase: string): WhereFrom {
  const wanted = plainWords(phrase)
  if (wanted === "") return { fields: [], found: [] }
  const leaves = leavesWith(state.output, "output", [], wanted)
  const whole = leaves.filter(({ isWhole }) => isWhole)
  const fields = [...whole, ...leaves.filter((leaf) => !leaf.isWhole)].slice(0, maxFields).map(({ path, keys }) => {
    const expression = plan === null ? null : fieldOf(plan, keys)
    return { path, made: expression === null ? null : originOf(expression) }
  })
  const writers = new Set(fields.map(({ made }) => made?.node ?? "output"))
  const nodes = plan === null ? null : before(plan, writers)
  const upstream = knownTexts(input, state).filter(
    ({ origin: { kind, node } }) =>
      // What a step gave that writes such a field is the phrase itself.
      !(kind === "step" && writers.has(node ?? "")) && (node === undefined || nodes === null || nodes.has(node)),
  )
  return { fields, found: matches(upstream, wanted) }
}

/** The steps that results of steps are made of, and these. */
function before({ nodes }: Plan, ids: Iterable<string>): ReadonlySet<string> {
  const found = new Set(ids)
  for (const one of found) for (const next of nodes.find((node) => node.id === one)?.depends_on ?? []) found.add(next)
  return found
}

function matches(texts: readonly KnownText[], wanted: string): FoundText[] {
  const words = wanted.split(" ").slice(0, maxWords)
  const same: (FoundText & { readonly at: number })[] = []
  const similar: (FoundText & { readonly at: number })[] = []
  for (const { text, origin, at, span } of texts) {
    const plain = ` ${plainWords(text)} `
    const found = { origin: { ...origin, isGuess: true as const }, at, ...(span !== undefined && { span }) }
    if (plain.includes(` ${wanted} `)) same.push({ ...found, shared: null })
    else {
      const shared = longestShared(words, plain)
      if (shared !== null) similar.push({ ...found, shared })
    }
  }
  same.sort((a, b) => a.at - b.at)
  similar.sort((a, b) => (b.shared?.length ?? 0) - (a.shared?.length ?? 0) || a.at - b.at)
  return [...same, ...similar].slice(0, maxFound).map(({ at: _at, ...found }) => found)
}

/** The longest row of words of the phrase that the text has; null for one that says nothing. */
function longestShared(words: readonly string[], plain: string): string | null {
  let best: readonly string[] = []
  for (let start = 0; start + best.length < words.length; start++) {
    let end = start + best.length + 1
    while (end <= words.length && plain.includes(` ${words.slice(start, end).join(" ")} `)) end++
    if (end - 1 - start > best.length) best = words.slice(start, end - 1)
  }
  return best.length < Math.min(fewestShared, words.length) ? null : best.join(" ")
}

interface Leaf {
  readonly path: string
  readonly keys: readonly string[]
  /** It is the phrase, and nothing else. */
  readonly isWhole: boolean
}

/** The texts of a value that have the words. */
function leavesWith(value: JsonValue, path: string, keys: readonly string[], wanted: string): Leaf[] {
  if (typeof value !== "object" || value === null) {
    const plain = plainWords(String(value))
    return ` ${plain} `.includes(` ${wanted} `) ? [{ path, keys, isWhole: plain === wanted }] : []
  }
  return Object.entries(value).flatMap(([key, one]) =>
    leavesWith(one, Array.isArray(value) ? `${path}[${key}]` : `${path}.${key}`, [...keys, key], wanted),
  )
}

/** The expression that makes a field of the output, as far into it as the source writes it out. */
function fieldOf({ nodes }: Plan, [name, ...keys]: readonly string[]): Expression | null {
  const output = nodes.find(({ kind }) => kind === "output")
  let found = output?.kind === "output" ? output.fields.find(({ key }) => key === name)?.value : undefined
  for (const key of keys) {
    const inner: Expression | undefined =
      found?.op === "object"
        ? found.entries.find((entry) => entry.key === key)?.value
        : found?.op === "array"
          ? found.items[Number(key)]
          : undefined
    if (inner === undefined) break
    found = inner
  }
  return found ?? null
}
