import assert from "node:assert/strict"
import { describe, test } from "node:test"
import { compile } from "../../src/compile.ts"
import { head } from "./holes.ts"

function errorsOf(source: string): string[] {
  return compile(source).diagnostics.flatMap(({ severity, code, path }) =>
    severity === "error" ? [`${code} ${path}`] : [],
  )
}

const input = `input { mail: untrusted string  iban: private string  flag: boolean  ub: untrusted boolean  pb: private boolean  mails: [untrusted string]  ul: untrusted [string]  pl: private [string]  rows: [{ id: string, note: untrusted string, s: private string }]  v: variant kind { a { x: untrusted string, y: string } b { z: private string } }  mv: maybe schema.m  t: (string, untrusted string, private string)  o: untrusted object }\nschema m { p: untrusted { q: string }  r: { s: private string  t: string }  k: [schema.m] }\n`

/** An expression, and whether it is untrusted and private. */
const values: readonly (readonly [string, { readonly untrusted: boolean; readonly private: boolean }])[] = [
  ["input.t[0]", { untrusted: false, private: false }],
  ["input.t[1]", { untrusted: true, private: false }],
  ["input.t[2]", { untrusted: false, private: true }],
  ["json(input.t)", { untrusted: true, private: true }],
  ["json(slice(input.t, 0, 1))", { untrusted: true, private: true }],
  ["text(first(reverse(input.t)))", { untrusted: true, private: true }],
  ["text(last(input.t))", { untrusted: false, private: true }],
  ['input.v#a.y ?? ""', { untrusted: false, private: false }],
  ['input.v#a.x ?? ""', { untrusted: true, private: false }],
  ['input.v#b.z ?? ""', { untrusted: false, private: true }],
  ["json(input.v)", { untrusted: true, private: true }],
  ["match input.v { a.y  b.z }", { untrusted: false, private: true }],
  ['input.mv?.p.q ?? ""', { untrusted: true, private: false }],
  ['input.mv?.r.t ?? ""', { untrusted: false, private: false }],
  ['input.mv?.r.s ?? ""', { untrusted: false, private: true }],
  ["json(input.mv?.k)", { untrusted: true, private: true }],
  ["length(input.mv?.k ?? [])", { untrusted: false, private: false }],
  ["json((input.mv?.k ?? []).*.r.t)", { untrusted: false, private: false }],
  ["json((input.mv?.k ?? []).*.k.*.p)", { untrusted: true, private: false }],
  ["json(input.rows.*.id)", { untrusted: false, private: false }],
  ["json(input.rows.*.note)", { untrusted: true, private: false }],
  ["json(input.rows.*.s)", { untrusted: false, private: true }],
  ["length(input.rows)", { untrusted: false, private: false }],
  ['json([r.id for r in input.rows when r.note != ""])', { untrusted: true, private: false }],
  ["json([r.id for r in input.rows by r.s])", { untrusted: false, private: true }],
  ["json([i for { id: i, note: n } in input.rows])", { untrusted: false, private: false }],
  ["json([n for { id: i, note: n } in input.rows])", { untrusted: true, private: false }],
  ["json(zip(input.rows.*.id, input.rows.*.note))", { untrusted: true, private: false }],
  ["json([p[0] for p in zip(input.rows.*.id, input.rows.*.note)])", { untrusted: false, private: false }],
  ["json([p[1] for p in zip(input.rows.*.id, input.rows.*.note)])", { untrusted: true, private: false }],
  ["json(concat(input.rows.*.id, input.rows.*.s))", { untrusted: false, private: true }],
  ["json(chunks(input.rows.*.note, 2))", { untrusted: true, private: false }],
  ["json(chunks(input.rows.*.id, length(input.mail) + 1))", { untrusted: true, private: false }],
  ["length(unique(input.rows.*.note))", { untrusted: true, private: false }],
  ["length(flatten([input.mails, input.ul]))", { untrusted: true, private: false }],
  ["json(keys(merge({ a: input.mail }, { b: 1 })))", { untrusted: true, private: false }],
  ['merge({ a: "x", b: "" }, { a: input.mail }).a', { untrusted: true, private: false }],
  ['merge({ a: input.mail, b: "" }, { a: "x" }).b', { untrusted: false, private: false }],
  ["length(entries({ a: input.mail }))", { untrusted: true, private: false }],
  ['at({ a: input.mail, b: "x" }, "b") ?? ""', { untrusted: true, private: false }],
  ["length(input.ul)", { untrusted: true, private: false }],
  ["length(input.pl)", { untrusted: false, private: true }],
  ["length(input.mails)", { untrusted: false, private: false }],
  ["input.flag && input.ub", { untrusted: true, private: false }],
  ["input.pb || input.flag", { untrusted: false, private: true }],
  ["!input.ub", { untrusted: true, private: false }],
  ["input.mv == null", { untrusted: true, private: true }],
  [
    'match input.flag { true: match input.ub { true: "a" false: "b" } false: "c" }',
    { untrusted: true, private: false },
  ],
  ['match input.pb { true: "a" false: "b" }', { untrusted: false, private: true }],
  ['"{{ input.flag }}"', { untrusted: false, private: false }],
  ["text(input.o.a)", { untrusted: true, private: false }],
  ['text(parse_json("1"))', { untrusted: false, private: false }],
  ['trust input.mail because "x"', { untrusted: false, private: false }],
  ['trust (input.iban) because "x"', { untrusted: false, private: true }],
  ['release ("{{ input.iban }}{{ input.mail }}") because "x"', { untrusted: true, private: false }],
  ["(((input.mail)))", { untrusted: true, private: false }],
  ["-(length(input.mail))", { untrusted: true, private: false }],
  ['({ a: input.mail, b: "k" }).b', { untrusted: false, private: false }],
  ['({ a: { c: input.mail }, b: "k" }).a.c', { untrusted: true, private: false }],
  ['[input.mail, "k"][1]', { untrusted: false, private: false }],
  ['[input.mail, "k"][0]', { untrusted: true, private: false }],
  ['json([[y for y in [x, "a"]] for x in input.mails][0])', { untrusted: true, private: false }],
]

describe("each value has the labels of its parts and of what decides, path by path", () => {
  for (const [value, expected] of values) {
    test(value, () => {
      const acted = errorsOf(`${head}${input}output { done: call tool.act { input { x: ${value} } } }`)
      const posted = errorsOf(`${head}${input}output { done: call tool.post { input { x: ${value} } } }`)
      assert.deepEqual([...new Set(acted)], expected.untrusted ? ["untrusted-action output.done"] : [])
      assert.deepEqual([...new Set(posted)], expected.private ? ["private-leak output.done"] : [])
    })
  }
})

describe("what a webhook fills chooses no address, in a file without words of trust either", () => {
  const filled = (from: string): string =>
    `input { host: string }\nsecrets { hook: string }\nwebhook h { verify: github secret: secrets.hook input { host: ${from} } }\n`
  const agent = (provider: string, model: string): string =>
    `provider p from openai { endpoint: ${provider} }\nmodel m from p { id: ${model} }\nagent a { model: model.m instruction: "x" output { ok: boolean } }\noutput { x: agent.a.ok }`
  const fixed = '"https://a.example.com/v1"'
  const sources: readonly (readonly [string, readonly string[]])[] = [
    [filled("body.host") + agent('"https://{{ input.host }}/v1"', '"m"'), ["untrusted-action provider.p.endpoint"]],
    [filled('"{{ body.host }}"') + agent(fixed, "input.host"), ["untrusted-action model.m.id"]],
    [filled("body.host") + agent(fixed, '"m"'), []],
    [
      `${filled('header."X-Host" ?? ""')}mcp s { endpoint: ${fixed} headers { X-A: input.host } }\ntool t from mcp.s.tool.t\noutput { x: call tool.t { input { } } }`,
      ["untrusted-action mcp.s.headers.X-A"],
    ],
    [
      `${filled('query.q ?? ""')}ask q { question: "?" to: input.host output { ok: boolean } }\noutput { x: ask.q.ok }`,
      ["untrusted-action ask.q.to"],
    ],
  ]
  for (const [index, [source, expected]] of sources.entries()) {
    test(`program ${index + 1}`, () => assert.deepEqual(errorsOf(source), expected))
  }
})
