import assert from "node:assert/strict"
import { test } from "node:test"

import { compile } from "../../src/compile.ts"
import { assertCpuBelow, cpuTime } from "../support/cpu-time.ts"
import { atStrength } from "../support/strength.ts"

// A source twice as long takes twice as long, whatever it repeats, and however wrong it is. Where cost grew with the
// square, four times the length would cost sixteen times the time.

const repeat = (count: number, one: (index: number) => string, between = "\n"): string =>
  Array.from({ length: count }, (_, index) => one(index)).join(between)

const backend = `provider p from openai { endpoint: "demo" }\nmodel m from p { id: "demo" }\n`
const agent = (name: string, instruction: string): string =>
  `agent ${name} { model: model.m instruction: "${instruction}" output { t: string } }`

const shapes: Readonly<Record<string, (count: number) => string>> = {
  "a chain of agents": (count) =>
    `${backend}${repeat(count, (i) => agent(`a${i}`, i === 0 ? "x" : `{{ agent.a${i - 1}.t }}`))}`,
  "a chain of agents, the last one first": (count) =>
    `${backend}${repeat(count, (i) => agent(`a${i}`, i === count - 1 ? "x" : `{{ agent.a${i + 1}.t }}`))}`,
  "a circle of agents": (count) =>
    `${backend}${repeat(count, (i) => agent(`a${i}`, `{{ agent.a${(i + 1) % count}.t }}`))}`,
  "agents that wait for themselves": (count) =>
    `${backend}${repeat(count, (i) => agent(`a${i}`, `{{ agent.a${i}.t }}`))}`,
  "agents with unknown references": (count) =>
    `${backend}${repeat(count, (i) => agent(`agent${i}`, `{{ agent.agnt${i}.t }} {{ inptu.x${i} }}`))}`,
  "a chain of dynamic values": (count) =>
    `dynamic { ${repeat(count, (i) => `d${i}: ${i === count - 1 ? "1" : `dynamic.d${i + 1}`}`)} }`,
  "a circle of dynamic values": (count) =>
    `dynamic { ${repeat(count, (i) => `d${i}: [dynamic.d${(i + 1) % count}]`)} }`,
  "dynamic values of an agent": (count) =>
    `${backend}agent a { model: model.m instruction: "x" output { t: string } dynamic { ${repeat(
      count,
      (i) => `d${i}: ${i === count - 1 ? "1" : `dynamic.d${i + 1}`}`,
    )} } }`,
  "values that hold each other": (count) =>
    `dynamic { d0: 1 ${repeat(count, (i) => `d${i + 1}: { a: dynamic.d${i}, b: dynamic.d${i} }`)} }
     output { a: dynamic.d${count} }`,
  "many schemas": (count) =>
    `${repeat(count, (i) => `schema s${i} { a: string }`)} input { ${repeat(count, (i) => `f${i}: schema.s${i}`)} }`,
  "schemas in a row": (count) =>
    `${repeat(count, (i) => `schema s${i} { a: ${i === count - 1 ? "string" : `schema.s${i + 1}`} }`)}`,
  "schemas in a circle": (count) => repeat(count, (i) => `schema s${i} { a: schema.s${(i + 1) % count} }`),
  "schemas that contain themselves": (count) => repeat(count, (i) => `schema s${i} { a: schema.s${i} }`),
  "a schema of schemas": (count) =>
    `schema all { ${repeat(count, (i) => `f${i}: schema.s${i}`)} } ${repeat(count, (i) => `schema s${i} { a: null }`)}`,
  "fields of schemas in a row": (count) =>
    repeat(count, (i) => `schema s${i} { f: ${i === count - 1 ? "string" : `schema.s${i + 1}.f`} }`),
  "fields of schemas in a circle": (count) => repeat(count, (i) => `schema s${i} { f: schema.s${(i + 1) % count}.f }`),
  "fields of schemas that double": (count) =>
    `schema s0 { f: string } ${repeat(count, (i) => `schema s${i + 1} { f: { a: schema.s${i}.f, b: schema.s${i}.f } }`)}`,
  "an object with many fields": (count) =>
    `input { ${repeat(count, (i) => `f${i}: string`)} } output { ${repeat(count, (i) => `f${i}: input.f${i}`)} }`,
  "an object with many fields, all misspelt": (count) =>
    `input { ${repeat(count, (i) => `field${i}: string`)} } output { ${repeat(count, (i) => `f${i}: input.feild${i}`)} }`,
  "fields of one name": (count) => `input { ${repeat(count, () => "f: string")} }`,
  "the whole input again and again": (count) =>
    `input { ${repeat(count, (i) => `f${i}: string`)} } output { ${repeat(count, (i) => `f${i}: input`)} }`,
  "a union of literals": (count) => `input { u: ${repeat(count, (i) => `"l${i}"`, " | ")} } output { u: input.u }`,
  "a union of objects": (count) =>
    `input { u: ${repeat(count, (i) => `{ f${i}: string }`, " | ")} } output { u: input.u }`,
  "a field of a union": (count) =>
    `input { u: ${repeat(count, (i) => `{ a: "l${i}" }`, " | ")} } output { a: input.u.a }`,
  "a match of many cases": (count) =>
    `input { v: variant k { ${repeat(count, (i) => `c${i} { f: string }`)} } }
     output { a: match input.v { ${repeat(count, (i) => `c${i}.f`)} } }`,
  "a match of unknown cases": (count) =>
    `input { v: variant k { ${repeat(count, (i) => `case${i} { f: string }`)} } }
     output { a: match input.v { ${repeat(count, (i) => `cas${i}.f`)} } }`,
  "a match on a large enum": (count) =>
    `input { e: enum { ${repeat(count, (i) => `e${i}`)} } }
     output { a: match input.e { ${repeat(count, (i) => `e${i}: 1`)} } }`,
  "a match on unknown members": (count) =>
    `input { e: enum { ${repeat(count, (i) => `member${i}`)} } }
     output { a: match input.e { ${repeat(count, (i) => `membr${i}: 1`)} } }`,
  "comparisons with a large enum": (count) =>
    `input { e: enum { ${repeat(count, (i) => `e${i}`)} } }
     output { ${repeat(count, (i) => `f${i}: input.e == "e${i}" && [input.e] contains "e${i}"`)} }`,
  "comparisons with unknown members": (count) =>
    `input { e: enum { ${repeat(count, (i) => `e${i}`)} } }
     output { ${repeat(count, (i) => `f${i}: input.e == "x${i}"`)} }`,
  "comparisons of large objects": (count) =>
    `input { o: { ${repeat(count, (i) => `f${i}: string`)} } }
     output { a: input.o == { ${repeat(count, (i) => `f${i}: "x"`)} } }`,
  "agents with conditions": (count) =>
    `${backend}input { m: maybe string } ${repeat(count, (i) => {
      const before = i === 0 ? "true" : `agent.a${i - 1} != null && agent.a${i - 1}.t != ""`
      return `agent a${i} when input.m != null && ${before} { model: model.m instruction: input.m output { t: string } }`
    })}`,
  "operators in a row": (count) =>
    `input { a: boolean } output { ${repeat(count, (i) => `f${i}: ${repeat(20, () => "input.a", " && ")}`)} }`,
  "a long array": (count) => `output { a: [${repeat(count, (i) => `{ f${i}: "x" }`, ", ")}] }`,
  "a text with many values": (count) =>
    `input { s: maybe string } output { a: "${repeat(count, () => "{{ input.s }}", " ")}" }`,
  "an endpoint of colons": (count) =>
    `provider p from openai { endpoint: "http://${":".repeat(40 * count)}{{ input.x }}" }`,
  "many headers": (count) =>
    `provider p from openai { headers { ${repeat(count, (i) => `X-${i}: "Bearer abcdef${i}"`)} } }`,
  "many tools in use": (count) =>
    `${backend}mcp s { endpoint: "https://s.example" } ${repeat(count, (i) => `tool t${i} from mcp.s.tool.t${i}`)}
     agent a { model: model.m instruction: "x" output { t: string } uses: [${repeat(count, (i) => `tool.t${i}`, ", ")}] }`,
  "bindings that many imports share": (count) =>
    `mcp s { endpoint: "https://s.example" } from mcp.s { bindings { ${repeat(count, (i) => `b${i}: 1`)} }
     ${repeat(count, (i) => `tool t${i}`)} }`,
}

function cost(source: string): number {
  const before = cpuTime()
  const { plan } = compile(source)
  if (plan !== undefined) JSON.stringify(plan)
  return cpuTime() - before
}

for (const [name, make] of Object.entries(shapes).filter((_, index) => index % atStrength(12, 1) === 0)) {
  test(`linear time: ${name}`, () => {
    const source = make(1_000)
    const longer = make(4_000)
    cost(source)
    const one = Math.max(cost(source), cost(source))
    const factor = longer.length / source.length
    const allowed = 2.5 * factor * one + 50
    // What grows with the square does so at each try; a busy machine does not.
    let taken = cost(longer)
    for (let again = 0; again < 4 && taken >= allowed; again++) taken = Math.min(taken, cost(longer))
    assert.ok(taken < allowed, `${taken.toFixed()} ms for ${factor.toFixed(1)} times the text of ${one.toFixed()} ms`)
  })
}

test("a thousand types that are made of themselves, by paths, are refused without following each to its end", async () => {
  const source = repeat(1000, (i) => `schema s${i} { a: schema.s${i}.a.a }`)
  // Following each of them took ten seconds.
  await assertCpuBelow(3_000, () => assert.equal(compile(source).plan, undefined))
})

test("nothing that a workflow may hold is too large: 5,000 agents, 20,000 fields, a union of 5,000", () => {
  for (const source of [
    shapes["a chain of agents"]?.(5_000),
    shapes["many schemas"]?.(5_000),
    shapes["an object with many fields"]?.(20_000),
    shapes["a union of objects"]?.(5_000),
    `output { a: ${"[".repeat(90)}1${"]".repeat(90)} }`,
  ]) {
    assert.ok(compile(source ?? "").plan !== undefined)
  }
})
