import { compile, Files } from "../src/compile.ts"

// What files that import each other cost: the CPU of checking a diamond of a hundred files of 200 lines, against one file with the same
// declarations in the same run; and that of an edit of one of them, for the file itself and then for the one that imports them all. Ten layers
// of ten files, each of which imports from two files of the layer below. The first rounds, in which code is still compiled, do not count.

const layers = 10
const width = 10
const rounds = 15
const warmUp = 5

const plainSchema = (name: string): string => `schema ${name} {
    id: string
    note: maybe string
    tags: [string]
    kind: enum { one, two, three }
    count: integer
}
`

function fileAt(layer: number, at: number): string {
  const below = layer === 0 ? [] : [at, (at + 1) % width].map((other) => `l${layer - 1}_${other}`)
  const own = Array.from({ length: 24 }, (_, index) => plainSchema(`s${layer}_${at}_${index}`))
  return [
    ...below.map((name) => `import { schema.top_${name} } from "./${name}.wire"`),
    `schema top_l${layer}_${at} {`,
    `    own: schema.s${layer}_${at}_0`,
    ...below.map((name, index) => `    b${index}: schema.top_${name}`),
    `}`,
    ...own,
  ].join("\n")
}

const modules: Record<string, string> = {}
for (let layer = 0; layer < layers; layer++) {
  for (let at = 0; at < width; at++) modules[`l${layer}_${at}.wire`] = fileAt(layer, at)
}
const tops = Array.from({ length: width }, (_, at) => `l${layers - 1}_${at}`)
const main = [
  ...tops.map((name) => `import { schema.top_${name} } from "./${name}.wire"`),
  `input { ${tops.map((name) => `${name}: schema.top_${name}`).join("  ")} }`,
  `output { first: input.${tops[0] ?? ""}.own.id }`,
].join("\n")
const whole = [...Object.values(modules), main].join("\n").replace(/^import .*$/gm, "")

function cpuMs(work: () => unknown): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

/** The lower quartile: a busy machine slows some rounds down. */
function usual(times: readonly number[]): number {
  return times.slice(warmUp).toSorted((a, b) => a - b)[Math.floor((rounds - warmUp) / 4)] ?? 0
}

for (const { diagnostics } of [compile(whole), compile(main, { modules })]) {
  const wrong = diagnostics.find(({ severity }) => severity === "error")
  if (wrong !== undefined) throw new Error(`The files are not right: ${JSON.stringify(wrong)}`)
}
const together: number[] = []
const apart: number[] = []
for (let round = 0; round < rounds; round++) {
  together.push(cpuMs(() => compile(whole)))
  apart.push(cpuMs(() => compile(main, { modules })))
}
const [one, many] = [usual(together), usual(apart)]
console.log(`one file of ${whole.split("\n").length} lines: ${one.toFixed(0)} ms`)
console.log(`${layers * width} files as a diamond: ${many.toFixed(0)} ms, ${(many / one).toFixed(2)} times as much`)

const texts = { ...modules }
const files = new Files({ read: (path) => texts[path], near: () => [] })
files.compile(main)
for (const [what, edited] of [
  ["at the bottom", "l0_0.wire"],
  ["in the middle", "l5_5.wire"],
  ["at the top", "l9_9.wire"],
] as const) {
  const itself: number[] = []
  const importer: number[] = []
  for (let round = 0; round < rounds; round++) {
    const text = `// ${round}\n${modules[edited] ?? ""}`
    texts[edited] = text
    itself.push(cpuMs(() => files.compile(text, edited)))
    importer.push(cpuMs(() => files.compile(main)))
  }
  console.log(`an edit ${what}: ${usual(itself).toFixed(1)} ms, then main.wire ${usual(importer).toFixed(1)} ms`)
}
