import { sourceBytes } from "../../src/base/limits.ts"

// The largest sources that are read, of every sort that once took long: signs, nested texts, chains, mistakes.

type MakeSource = () => string

/** Makes a source of almost a mebibyte: a head, as many pieces as fit, a tail. */
function filled(head: string, piece: (at: number) => string, tail = ""): MakeSource {
  return () => {
    const room = sourceBytes - Buffer.byteLength(head + tail)
    const parts: string[] = []
    for (let at = 0, bytes = 0; ; at++) {
      const part = piece(at)
      bytes += Buffer.byteLength(part)
      if (bytes > room) return head + parts.join("") + tail
      parts.push(part)
    }
  }
}

const times = (count: number, make: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => make(at)).join("\n")

const demo = 'provider p from openai { endpoint: "demo" }\nmodel m from p { id: "demo" }\n'
const agent = (name: string, instruction: string, more = ""): string =>
  `agent ${name} { model: model.m ${more} instruction: "${instruction}" output { t: string } }\n`
const first = `${demo}${agent("a0", "Go")}`

const signs = [
  "{", "}", "[", "]", "(", ")", ",", ":", ".", "!", "-", "#", "?", "`", "'", '"', "\\", "a ", "a,", "a.", "->", "??", "&&",
  "{{", "}}", '""', '"""', "//", "/*", "{ a: ", '"{{ ', "\u0001", "\u202e", "\n", "output { ", "agent ", "dynamic { ", "match ", "maybe ",
] // prettier-ignore

/** Those that take the longest of their sort. */
export const hardest = {
  "a chain of values": filled("dynamic {\nv0: 1\n", (at) => `v${at + 1}: [dynamic.v${at}]\n`, "}\noutput { x: 1 }"),
  "values that may be null in texts": filled(
    "input { a: maybe string }\noutput {\n",
    (at) => `x${at}: "{{ input.a }}"\n`,
    "}",
  ),
  "a chain of agents": filled(first, (at) => agent(`a${at + 1}`, `{{ agent.a${at}.t }}`), "output { x: 1 }"),
  "a chain of types": filled(
    "schema s0 { a: string }\n",
    (at) => `schema s${at + 1} { a: schema.s${at} }\n`,
    "input { a: schema.s9000 }",
  ),
  "a brace too many, again and again": filled(demo, (at) => `${agent(`a${at}`, "Go")}}\n`),
} satisfies Record<string, MakeSource>

export const mebibytes = {
  ...hardest,
  ...Object.fromEntries(signs.map((sign) => [`nothing but ${JSON.stringify(sign)}`, filled("", () => sign)])),
  ...Object.fromEntries(
    ["[", "(", "!", "-", "{ a: ", '"{{ ', "maybe "].map((sign) => [
      `${sign} in a type`,
      filled("schema s { x: ", () => sign),
    ]),
  ),
  "nested texts": filled("output { x: ", () => '"{{ '),
  "texts nested 90 deep": filled("output {\n", (at) => `x${at}: ${'"{{ '.repeat(90)}1${' }}"'.repeat(90)}\n`, "}"),
  "values in a text": filled('input { a: string }\noutput { x: "', () => "{{ input.a }}", '" }'),
  "lines of a text": filled('output { x: """\n', (at) => `${" ".repeat(at % 40)}x\n`, '""" }'),
  "a chain of values, each twice": filled(
    "dynamic {\nv0: 1\n",
    (at) => `v${at + 1}: { a: dynamic.v${at}, b: dynamic.v${at} }\n`,
    "}\noutput { x: 1 }",
  ),
  "a circle of values": filled("dynamic {\n", (at) => `v${at}: dynamic.v${(at + 1) % 30_000}\n`, "}"),
  "a chain of choices": filled(
    "input { a: enum { x, y } }\ndynamic {\nv0: 1\n",
    (at) => `v${at + 1}: match input.a { x => dynamic.v${at}, y => 1 }\n`,
    "}\noutput { x: 1 }",
  ),
  "a long sum": filled("input { a: integer }\noutput { x: input.a", () => " + input.a", " }"),
  "signs before a number": filled("output { x: ", () => "-", "1 }"),
  "signs before a number, apart": filled("output { x: 1 ", () => "- ", "1 }"),
  "names with dashes": filled("input { a: integer }\noutput { x: ", () => "input.a-", "1 }"),
  "one list": filled("input { a: string }\noutput { x: [", () => "input.a, ", "1] }"),
  "a long condition": filled("input { a: boolean }\noutput { x: input.a", () => " && input.a", " }"),
  "agents with the context of the one before": filled(
    first,
    (at) => agent(`a${at + 1}`, "Go", `context: compact agent.a${at}`),
    "output { x: 1 }",
  ),
  "agents that depend on a condition": filled(
    `input { b: boolean }\n${first}`,
    (at) =>
      `agent a${at + 1} when input.b && agent.a${at} != null { model: model.m instruction: "x" output { t: string } }\n`,
    "output { x: 1 }",
  ),
  "a circle of types": filled(
    "",
    (at) => `schema s${at} { a: [schema.s${(at + 1) % 9000}] }\n`,
    "input { a: schema.s0 }",
  ),
  "types that contain themselves": filled("", (at) => `schema s${at} { a: schema.s${(at + 1) % 9000} }\n`),
  "a union": filled("input { u: ", (at) => `{ f${at}: string } | `, "string }"),
  "a variant": filled("schema v { variant kind { ", (at) => `c${at} { a: string } `, "} }\ninput { v: schema.v }"),
  "unknown names": filled("output {\n", (at) => `x${at}: agent.b${at}.t\n`, "}"),
  "names that are almost known": filled(
    `input { ${times(20_000, (at) => `field_${at}: string`)} }\noutput {\n`,
    (at) => `x${at}: input.feld_${at}\n`,
    "}",
  ),
  "braces too few": filled(demo, (at) => `agent a${at} { model: model.m instruction: "Go" output { t: string }\n`),
  "texts without an end": filled(
    demo,
    (at) => `agent a${at} { model: model.m instruction: "Go output { t: string } }\n`,
  ),
  "one name, declared again and again": filled(demo, () => agent("a", "Go")),
  "secrets for an address that the input decides": filled(
    "input { h: string }\nsecrets { k: string }\n",
    (at) =>
      `provider p${at} from openai { endpoint: input.h api_key: secrets.k }\nmodel m${at} from p${at} { id: "x" }\n`,
  ),
  "all secrets for every address": filled(
    `input { h: string }\nsecrets { ${times(9_000, (at) => `k${at}: string`)} }\n`,
    (at) => `provider p${at} from openai { endpoint: input.h headers { a: "{{ secrets }}" } }\n`,
  ),
  JSON: filled("[", (at) => `{"a": ${at}, "b": [1, {"c": null}]},\n`, "1]"),
  Python: filled("", (at) => `def f${at}(a, b):\n    return a + b\n`),
  Markdown: filled("", (at) => `# Title ${at}\n\n- a **b** [c](d)\n\n`),
} satisfies Record<string, MakeSource>

/** What `npm test` tries: one with mistakes, and one that is valid. */
export const fewMebibytes = {
  "a brace too many, again and again": hardest["a brace too many, again and again"],
  "all secrets for every address": mebibytes["all secrets for every address"],
}
