import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { formatSource, validateSource } from "../../../src/compiler/source-jobs.ts"
import type { Random } from "../../support/random.ts"
import type { Target } from "./target.ts"

const folder = join(import.meta.dirname, "..", "..", "cases")

/** Every source that a test case has: there is one for every part of the language. */
const corpus = ["check", "format", "parse", "plan", "lex"].flatMap((stage) =>
  readdirSync(join(folder, stage))
    .filter((file) => file.endsWith(".wire"))
    .map((file) => readFileSync(join(folder, stage, file), "utf8").split("=== expected ===")[0] ?? "")
    .filter((text) => text.length > 0 && text.length < 4000),
)

const tokens = [
  ..."{}[]()\"':,.#*|?@/\\\n \t\r-_0a=!<>&".split(""),
  '"""',
  "{{",
  "}}",
  "//",
  "///",
  "/*",
  "*/",
  "??",
  "?.",
  ".*.",
  ".**.",
  ".***.",
  "[0]",
  "#case",
  "&&",
  "||",
  "==",
  "!=",
  ..."input secrets schema provider model mcp tool resource prompt from dynamic agent output for in match call read".split(
    " ",
  ),
  ..."render asset maybe enum variant string integer null true false when context uses bindings instruction".split(" "),
  "input { a: string }\n",
  "schema s { a: schema.s }\n",
  "dynamic { d: dynamic.d }\n",
  'agent a { instruction: "x" }\n',
  "a: string\n",
  "a: 1, ",
  "{ a: ",
  "[ ",
  "maybe ",
  "string | ",
  '"l" | ',
  "(1, ",
  "dynamic.d",
  "input.a.b.c",
  "é",
  "😀",
  "\0",
]

/** The same line with another number: names that differ. */
function numbered(random: Random, most: number): string {
  const shape = random.pick([
    (i: number) => `d${i}: dynamic.d${i + 1}\n`,
    (i: number) => `d${i + 1}: [dynamic.d${i}, dynamic.d${i}]\n`,
    (i: number) => `schema s${i} { a: schema.s${i + 1}, b: maybe schema.s${i + 1} }\n`,
    (i: number) => `schema s${i} { a: schema.s${i + 1}.a }\n`,
    (i: number) => `tool t${i} from mcp.s.tool.t${i} { bindings { a: input.f${i} } }\n`,
    (i: number) => `tool t${i}\n`,
    (i: number) => `f${i}: { a${i}: string } | { b: "x${i}" }\n`,
    (i: number) => `"l${i}" | `,
    (i: number) => `{ f${i}: string } | `,
    (i: number) => `c${i} { a: string }\n`,
    (i: number) => `c${i}.a ?? "x"\n`,
    (i: number) => `agent a${i} { model: model.m instruction: "{{ agent.a${i + 1}.t }}" output { t: string } }\n`,
    (i: number) => `nam${i}e: input.name${i}\n`,
    (i: number) => `{{ dynamic.d${i} ?? input.a${i} }} `,
    (i: number) => `{ f${i}: ${i} }, `,
    (i: number) => `X-${i}: "Bearer ${i}abcdef"\n`,
  ])
  let text = ""
  for (let index = 0; text.length < most - 100; index++) text += shape(index)
  return text.slice(0, most)
}

const around = [
  ["dynamic {\n", "}\noutput { a: dynamic.d1 }"],
  ["input {\n", "}\noutput { a: input }"],
  ["output {\n", "}"],
  ['mcp s { endpoint: "http://x/" }\nfrom mcp.s {\n', "}"],
  ["input { u: ", '"z" }\noutput { u: input.u }'],
  ["input { v: variant k { ", " } }\noutput { a: match input.v { _ 1 } }"],
  ['output { a: "', '" }'],
  ["output { a: [", "] }"],
  ["", "\noutput { a: 1 }"],
  ["provider m from openai { headers { ", " } }"],
  ["schema v { variant k { ", " } }"],
] as const

export const sourceTarget: Target = {
  name: "sources",
  tokens,
  make(random, most) {
    switch (random.below(3)) {
      case 0:
        return random.pick(corpus).slice(0, most)
      case 1: {
        const [open, close] = random.pick(around)
        return open + numbered(random, most - open.length - close.length) + close
      }
      default: {
        let text = ""
        const few = random.list(random.size(12), () => random.pick(tokens))
        while (text.length < most) text += random.pick(random.chance(0.8) ? few : tokens)
        return text.slice(0, most)
      }
    }
  },
  read(source) {
    JSON.stringify(validateSource({ kind: "validate", source }))
    formatSource(source)
  },
}
