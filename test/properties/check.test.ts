import assert from "node:assert/strict"
import { globSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { test } from "node:test"

import { fc } from "../support/fast-check.ts"
import { atStrength, cases } from "../support/strength.ts"

import { compile } from "../../src/compile.ts"
import type { Compiled } from "../../src/compile.ts"
import type { Plan } from "../../src/plan/plan-shape.ts"
import { isError } from "../../src/source/diagnostic.ts"
import { lex } from "../../src/syntax/lexer.ts"
import { parse } from "../../src/syntax/parser.ts"
import { readCase } from "../cases/case-file.ts"
import { checkPlanPlaces } from "../support/plan-invariants.ts"
import { wireSource } from "./wire-source.ts"

const root = dirname(dirname(import.meta.dirname))
const read = (path: string): string => readCase(readFileSync(join(root, path), "utf8")).source
const small = (source: string): boolean => source.length < 20_000

const examples = globSync("examples/*.wire", { cwd: root })
  .filter((path) => !path.endsWith(".test.wire"))
  .toSorted()
  .map(read)
const texts = globSync("test/cases/{check,plan,parse}/*.wire", { cwd: root }).toSorted().map(read).filter(small)
const sources = [...examples, ...texts]

// ---------------------------------------------------------------------------------------------- what always holds

/** Compiles, and holds the result to everything that is promised of any text. */
function compileAny(text: string): Compiled {
  const compiled = compile(text)
  const { diagnostics, plan } = compiled
  const seen = new Set<string>()
  let start = 0
  for (const diagnostic of diagnostics) {
    const { span, message, hint, path } = diagnostic
    const said = JSON.stringify(diagnostic)
    assert.ok(!seen.has(said), `twice: ${said}`)
    seen.add(said)
    assert.ok(0 <= span.start && span.start <= span.end && span.end <= text.length, `outside of the text: ${said}`)
    assert.ok(span.start >= start, `not in source order: ${said}`)
    start = span.start
    assert.ok(message.length > 0 && message.length < 5_000 && (hint ?? "").length < 5_000, `too long: ${said}`)
    assert.doesNotMatch(`${path}${message}${hint ?? ""}`, /undefined|\[object [A-Z]|NaN|=> \{/, said)
  }
  assert.equal(plan === undefined, diagnostics.some(isError))
  if (plan !== undefined) checkPlan(plan)
  return compiled
}

function checkPlan(plan: Plan): void {
  const json = JSON.stringify(plan)
  assert.equal(JSON.stringify(JSON.parse(json)), json, "a plan survives JSON")
  checkPlanPlaces(plan)
  const done = new Set<string>()
  for (const { id, depends_on } of plan.nodes) {
    for (const other of depends_on) assert.ok(done.has(other), `${id} stands before ${other}`)
    assert.ok(!done.has(id), `${id} stands twice`)
    done.add(id)
  }
  const sites: string[] = []
  JSON.parse(json, (key, value: unknown) => {
    if (key === "text" && typeof value === "string") assert.ok(value.length <= 200, `a text for messages: ${value}`)
    const { op, site } = Object(value) as { readonly op?: unknown; readonly site?: unknown }
    // `failure(…)` has the site of the call that it asks about.
    if (typeof site === "string" && op !== "failure") sites.push(site)
    return value
  })
  assert.equal(new Set(sites).size, sites.length, "every call has a name of its own")
}

// ------------------------------------------------------------------------------------------------------ mutations

type Edit = (text: string, at: number, random: number) => string

const words: readonly string[] = [
  ..."{}[]()|,:;.?#*\"'`\\/\n ".split(""),
  ...'?. ?? *** """ {{ }} // /* /// \0 \ud800 é 1e999 - 0 __proto__'.split(" "),
  ..."input secrets schema provider model mcp tool from dynamic agent output for in as match call read".split(" "),
  ..."render asset compact maybe enum variant null true input.x agent.a dynamic.d secrets.s schema.s model.m".split(
    " ",
  ),
  ..."tool.t|_ 1|a: string|{ a: 1 }".split("|"),
]

/** Where tokens begin, so that most changes keep the text nearly right. */
function tokenSpans(text: string): { start: number; end: number }[] {
  return lex(text).tokens.map(({ start, end }) => ({ start, end }))
}

function atToken(edit: (text: string, start: number, end: number, random: number) => string): Edit {
  return (text, at, random) => {
    const spans = tokenSpans(text)
    const span = spans[at % spans.length]
    return span === undefined ? text : edit(text, span.start, span.end, random)
  }
}

const edits: readonly Edit[] = [
  (text, at) => text.slice(0, at % (text.length + 1)),
  (text, at) => text.slice(at % (text.length + 1)),
  (text, at, random) => {
    const place = at % (text.length + 1)
    return text.slice(0, place) + (words[random % words.length] ?? "") + text.slice(place)
  },
  atToken((text, start, end) => text.slice(0, start) + text.slice(end)),
  atToken((text, start, end) => `${text.slice(0, end)} ${text.slice(start, end)}${text.slice(end)}`),
  atToken((text, start, end, random) => text.slice(0, start) + (words[random % words.length] ?? "") + text.slice(end)),
  // Another token of the same text in its place: names that exist, in places where they do not belong.
  atToken((text, start, end, random) => {
    const others = tokenSpans(text)
    const other = others[random % others.length]
    return text.slice(0, start) + (other === undefined ? "" : text.slice(other.start, other.end)) + text.slice(end)
  }),
  (text, at) => {
    const lines = text.split("\n")
    lines.splice(at % lines.length, 1)
    return lines.join("\n")
  },
  (text, at, random) => {
    const lines = text.split("\n")
    const [line] = lines.splice(at % lines.length, 1)
    lines.splice(random % (lines.length + 1), 0, line ?? "")
    return lines.join("\n")
  },
]

const mutated = fc
  .tuple(
    fc.nat(sources.length - 1),
    fc.array(fc.tuple(fc.nat(edits.length - 1), fc.nat(), fc.nat()), { minLength: 1, maxLength: 4 }),
  )
  .map(([index, changes]) =>
    changes.reduce((text, [edit, at, random]) => edits[edit]?.(text, at, random) ?? text, sources[index] ?? ""),
  )

test("any change of any source is compiled to diagnostics in order, and to a plan if none is an error", () => {
  fc.assert(
    fc.property(mutated, (text) => {
      compileAny(text)
    }),
    { numRuns: cases(3_000) },
  )
})

test("any piece of text is compiled", () => {
  const pieces = fc.array(fc.constantFrom(...words), { maxLength: 60 }).map((some) => some.join(" "))
  fc.assert(
    fc.property(fc.oneof(pieces, fc.string({ unit: "binary" })), (text) => {
      compileAny(text)
    }),
    { numRuns: cases(1_000) },
  )
})

test("random sources that cover the grammar are compiled", () => {
  fc.assert(
    fc.property(wireSource("breaks"), (text) => {
      compileAny(text)
    }),
    { numRuns: cases(500) },
  )
})

test("every source as it stands, and cut off at every line", () => {
  for (const source of sources) {
    const lines = source.split("\n")
    for (let count = 0; count <= lines.length; count += atStrength(17, 3)) compileAny(lines.slice(0, count).join("\n"))
    compileAny(source)
  }
})

// ---------------------------------------------------------------------------------------------- order, and names

/** The messages, without their places. */
function said({ diagnostics }: Compiled): string[] {
  return diagnostics.map(({ code, path, message, hint }) => `${code} ${path} ${message} ${hint ?? ""}`).toSorted()
}

/** The plan as a set: what depends on what, what each node does, and what is scored. */
function asSet({ plan }: Compiled): unknown {
  if (plan === undefined) return undefined
  const scores = plan.scores?.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const nodes = plan.nodes.map((node) => ({ ...node, depends_on: node.depends_on.toSorted() }))
  return JSON.parse(JSON.stringify({ ...plan, scores, nodes: nodes.toSorted((a, b) => (a.id < b.id ? -1 : 1)) }))
}

test("the order of declarations does not matter", () => {
  const valid = sources.filter((source) => compile(source).plan !== undefined)
  assert.ok(valid.length > 20)
  const shuffled = fc.nat(valid.length - 1).chain((index) => {
    const source = valid[index] ?? ""
    const { tree } = parse(source)
    const parts = tree.declarations.map(({ start, end }) => source.slice(start, end))
    return fc.shuffledSubarray(parts, { minLength: parts.length }).map((order) => ({ parts, order }))
  })
  fc.assert(
    fc.property(shuffled, ({ parts, order }) => {
      const before = compileAny(parts.join("\n\n"))
      const after = compileAny(order.join("\n\n"))
      assert.deepEqual(said(after), said(before))
      assert.deepEqual(asSet(after), asSet(before))
    }),
    { numRuns: cases(300) },
  )
})
