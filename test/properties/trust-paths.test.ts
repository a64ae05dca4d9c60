import assert from "node:assert/strict"
import { test } from "node:test"
import { compile } from "../../src/compile.ts"
import { Random } from "../support/random.ts"
import { assertOften, atStrength, soakSeed } from "../support/strength.ts"

// A value has the labels of all that is in it, whatever the path to it: fields, plucks, plucks in plucks, indexes, loops.

type Shape =
  | { readonly kind: "text"; readonly marked: boolean }
  | { readonly kind: "record"; readonly marked: boolean; readonly fields: ReadonlyMap<string, Shape> }
  | { readonly kind: "list"; readonly marked: boolean; readonly element: Shape }

const names = ["a", "b", "c"]

function randomShape(random: Random, depth: number): Shape {
  const marked = random.chance(0.12)
  const roll = depth === 0 ? 0 : random.below(10)
  if (roll < 2) return { kind: "text", marked }
  if (roll < 6) return { kind: "list", marked, element: randomShape(random, depth - 1) }
  const fields = names.slice(0, 1 + random.below(3)).map((name) => [name, randomShape(random, depth - 1)] as const)
  return { kind: "record", marked, fields: new Map(fields) }
}

function written(shape: Shape): string {
  const mark = shape.marked ? "untrusted " : ""
  switch (shape.kind) {
    case "text":
      return `${mark}string`
    case "list":
      return `${mark}[${written(shape.element)}]`
    case "record":
      return `${mark}{ ${[...shape.fields].map(([name, field]) => `${name}: ${written(field)}`).join(", ")} }`
  }
}

function holdsMark(shape: Shape): boolean {
  if (shape.marked) return true
  if (shape.kind === "list") return holdsMark(shape.element)
  return shape.kind === "record" && [...shape.fields.values()].some(holdsMark)
}

/** A chain from a value of a shape on, and whether what it reads holds a mark. `outer`: one is on the way. */
interface Path {
  readonly steps: string
  readonly marked: boolean
  readonly plucks: number
}

function randomPath(random: Random, shape: Shape, outer: boolean, isOptional = false): Path {
  const isMarked = outer || shape.marked
  const end = { steps: "", marked: outer || holdsMark(shape), plucks: 0 }
  if (shape.kind === "text" || random.chance(0.15)) return end
  const before = (steps: string, rest: Path, plucks = 0): Path => {
    return { steps: `${steps}${rest.steps}`, marked: rest.marked, plucks: rest.plucks + plucks }
  }
  const dot = isOptional ? "?." : "."
  if (shape.kind === "record") {
    const [name, field] = random.pick([...shape.fields])
    return before(`${dot}${name}`, randomPath(random, field, isMarked))
  }
  const { element } = shape
  if (element.kind !== "record" || random.chance(0.2)) {
    return before(`${isOptional ? "?." : ""}[0]`, randomPath(random, element, isMarked, true))
  }
  const [name, field] = random.pick([...element.fields])
  const stars = random.pick(["*", "**", "***"])
  return before(`${dot}${stars}.${name}`, randomPath(random, field, isMarked || element.marked), 1)
}

test("whatever the path to a value is, a mark on it, in it or above it is found, and no other", () => {
  const random = new Random(soakSeed)
  let nested = 0
  for (let turn = 0; turn < atStrength(300, 6000); turn++) {
    const shape = randomShape(random, 5)
    const { steps, marked, plucks } = randomPath(random, shape, false)
    const source = `input { x: ${written(shape)} }
api shop { endpoint: "https://shop.example" }
tool refund from api.shop."POST /refund" { requires: trusted  input { words: string } }
output { r: call tool.refund { input { words: json(input.x${steps}) } } }`
    const wrong = compile(source).diagnostics.filter(({ severity }) => severity === "error")
    assert.deepEqual([...new Set(wrong.map(({ code }) => code))], marked ? ["untrusted-action"] : [], source)
    if (plucks > 1 && marked) nested++
  }
  assertOften(nested, 10, "marks were found through two plucks")
})
