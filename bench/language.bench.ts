import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { parse as parseGraphql } from "graphql"
import { format as formatWithPrettier } from "prettier"
import { check } from "../src/check/check.ts"
import { compile } from "../src/compile.ts"
import { format, formatText } from "../src/syntax/format.ts"
import { lex } from "../src/syntax/lexer.ts"
import { parse } from "../src/syntax/parser.ts"
import type { BundleSize } from "./bundle-size.ts"
import { bundleSize } from "./bundle-size.ts"
import { graphqlOf, lineCount, workflowOf } from "./language-sources.ts"

// What the language costs: CPU of each step on a workflow of 40, 500 and 5,000 lines, against two floors in the same run:
// graphql-js reading, and prettier formatting, a GraphQL document of about the same size; the ratios are of the time per
// byte, since the sizes differ by a declaration. They take turns, each with the garbage of the one before collected, and of
// the turns of each the lower quartile counts: a busy machine slows some turns down, and the very best is luck. The first
// turns, in which code is still compiled, do not count.

const rounds = 81
const warmUp = 20

// A minor collection: a full one would also drop compiled code.
setFlagsFromString("--expose-gc")
const collect = runInNewContext("gc") as (options: { readonly type: "minor" }) => void

interface Subject {
  readonly name: string
  readonly work: () => unknown
  /** Most rounds, for what is slow. */
  readonly rounds?: number
}

interface Size {
  readonly lines: number
  readonly bytes: number
  readonly graphqlBytes: number
  readonly times: ReadonlyMap<string, number>
}

async function measure(lines: number): Promise<Size> {
  const source = workflowOf(lines)
  const graphql = graphqlOf(source.length)
  const { tree, diagnostics } = parse(source)
  const wrong = [...diagnostics, ...check(tree).diagnostics].filter(({ severity }) => severity === "error")
  if (wrong.length > 0) throw new Error(`The workflow is not right: ${JSON.stringify(wrong[0])}`)
  const subjects: readonly Subject[] = [
    { name: "lex", work: () => lex(source) },
    { name: "parse (with lex)", work: () => parse(source) },
    { name: "check", work: () => check(tree) },
    { name: "format", work: () => format(tree) },
    { name: "parse and format", work: () => formatText(source) },
    { name: "compile: parse, check, plan", work: () => compile(source) },
    { name: "floor: graphql-js parse", work: () => parseGraphql(graphql) },
    { name: "floor: prettier", work: () => formatWithPrettier(graphql, { parser: "graphql" }), rounds: 26 },
  ]
  const repeats = Math.max(1, Math.round(8_000 / lines))
  const turns = new Map<string, number[]>(subjects.map(({ name }) => [name, []]))
  for (let round = 0; round < rounds; round++) {
    for (const { name, work, rounds: most = rounds } of subjects) {
      if (round >= most) continue
      collect({ type: "minor" })
      const start = process.cpuUsage()
      for (let repeat = 0; repeat < repeats; repeat++) await work()
      const { user, system } = process.cpuUsage(start)
      if (round >= warmUp) turns.get(name)?.push((user + system) / 1_000 / repeats)
    }
  }
  const times = new Map([...turns].map(([name, all]) => [name, lowerQuartile(all)]))
  const [bytes, graphqlBytes] = [Buffer.byteLength(source), Buffer.byteLength(graphql)]
  return { lines: lineCount(source), bytes, graphqlBytes, times }
}

function lowerQuartile(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 4)] ?? Number.NaN
}

interface Bundle extends BundleSize {
  readonly name: string
}

async function bundle(name: string, contents: string): Promise<Bundle> {
  return { name, ...(await bundleSize(contents)) }
}

const sizes: Size[] = []
for (const lines of [40, 500, 5_000]) sizes.push(await measure(lines))

const timeOf = (size: Size | undefined, name: string) => size?.times.get(name) ?? Number.NaN
const [small, medium, large] = sizes

for (const { lines, bytes, graphqlBytes } of sizes) {
  console.log(`${lines} lines are ${bytes} bytes; the GraphQL document has ${graphqlBytes}`)
}
console.log(
  `\n${"".padEnd(30)}${sizes.map(({ lines }) => `${lines} lines`.padStart(14)).join("")}${"ns/byte".padStart(12)}`,
)
for (const name of large?.times.keys() ?? []) {
  const cells = sizes.map((size) => `${timeOf(size, name).toFixed(3)} ms`.padStart(14)).join("")
  const perByte = (timeOf(large, name) * 1e6) / (large?.bytes ?? Number.NaN)
  console.log(`${name.padEnd(30)}${cells}${perByte.toFixed(1).padStart(12)}`)
}

const parser = 'export { parse } from "./src/syntax/parser.ts";'
const formatter = 'export { formatText } from "./src/syntax/format.ts";'
const compiler = 'export { compile } from "./src/compile.ts";'
const bundles = [
  await bundle("parser", parser),
  await bundle("parser, formatter", parser + formatter),
  await bundle("src/compile.ts", compiler),
  await bundle("src/compile.ts, formatter", compiler + formatter),
]
console.log(
  `\n${"bytes in a browser".padEnd(30)}${["minified", "gzip", "brotli"].map((head) => head.padStart(14)).join("")}`,
)
for (const { name, minified, gzip, brotli } of bundles) {
  console.log(`${name.padEnd(30)}${[minified, gzip, brotli].map((size) => String(size).padStart(14)).join("")}`)
}
console.log("")

interface Goal {
  readonly name: string
  readonly value: number
  readonly least?: number
  readonly most?: number
}

const compiled = bundles.find(({ name }) => name === "src/compile.ts")
const faster = (size: Size | undefined, floor: string, name: string) => {
  if (size === undefined) return Number.NaN
  return timeOf(size, floor) / size.graphqlBytes / (timeOf(size, name) / size.bytes)
}
const growth = (name: string) => {
  const perByte = (size: Size | undefined) => timeOf(size, name) / (size?.bytes ?? Number.NaN)
  return perByte(large) / perByte(medium)
}

const goals: readonly Goal[] = [
  ...[small, large].flatMap((size) => [
    {
      name: `graphql-js over ours: reading ${size?.lines} lines`,
      value: faster(size, "floor: graphql-js parse", "parse (with lex)"),
      least: size === small ? 1.2 : 1.1,
    },
    {
      name: `prettier over ours: formatting ${size?.lines} lines`,
      value: faster(size, "floor: prettier", "parse and format"),
      least: 20,
    },
  ]),
  ...["lex", "parse (with lex)", "check", "format"].map((name) => ({
    name: `time per byte of 5,000 lines over that of 500: ${name}`,
    value: growth(name),
    most: 1.5,
  })),
  { name: "kilobytes of src/compile.ts in a browser, gzip", value: (compiled?.gzip ?? Number.NaN) / 1_000, most: 60 },
]

let missed = 0
for (const { name, value, least, most } of goals) {
  // NaN meets no goal.
  const isMet = value >= (least ?? Number.NEGATIVE_INFINITY) && value <= (most ?? Number.POSITIVE_INFINITY)
  if (!isMet) missed++
  const wanted = least === undefined ? `at most ${most}` : `at least ${least}`
  console.log(`${isMet ? "met   " : "MISSED"} ${value.toFixed(2).padStart(8)}  ${wanted.padEnd(14)} ${name}`)
}
process.exitCode = missed === 0 ? 0 : 1
