import assert from "node:assert/strict"
import { test } from "node:test"
import type { JsonObject, JsonValue } from "../../src/base/json-value.ts"
import { compile } from "../../src/compile.ts"
import type { Plan } from "../../src/plan/plan-shape.ts"
import type { CodeAnswer, CodeHost } from "../../src/ports/code.ts"
import { isError } from "../../src/source/diagnostic.ts"
import { evaluateEffects, evaluateEntries, noEffects, type Effects } from "../../src/run/values/evaluate-effects.ts"
import { EvaluationWork } from "../../src/run/values/evaluation-work.ts"
import { RunCode } from "../../src/run/values/run-code.ts"
import { emptyScope, type Scope } from "../../src/run/values/scope.ts"
import { RunFailure } from "../../src/ports/run-failure.ts"
import { Random } from "../support/random.ts"
import { atStrength, soakSeed } from "../support/strength.ts"

// Code that keeps whatever it is given, and tells of it in every later result of its context: where the checker takes a program, what
// strangers wrote does not change what a tool is called with that acts on trusted words only.

const head = `
input { mail: untrusted string  mails: [untrusted string]  shop: string  shops: [string] }
mcp s { endpoint: "http://tools.test/mcp" }
tool act from mcp.s.tool.act { input { to: string } requires: trusted }
function f(a: string, b: string): string from "./code.js"
function l(a: string): [string] from "./code.js"
function g(a: string) = f(a, "g")
function h(a: string, b: string) = match f(a, "h") == "0" { true: b false: f(b, b) }
`

class Writer {
  readonly #random: Random

  constructor(random: Random) {
    this.#random = random
  }

  text(depth: number, variables: readonly string[]): string {
    const random = this.#random
    const inner = (more: readonly string[] = []): string => this.text(depth - 1, [...variables, ...more])
    if (depth === 0) return random.pick(["input.shop", "input.shop", "input.mail", '"x"', "dynamic.d", ...variables])
    switch (random.below(10)) {
      case 0:
      case 1:
        return `f(${inner()}, ${inner()})`
      case 2:
        return `g(${inner()})`
      case 3:
        return `h(${inner()}, ${inner()})`
      case 4:
        return `(match ${inner()} == ${inner()} { true: ${inner()} false: ${inner()} })`
      case 5:
        return `{ a: ${inner()}, b: ${inner()} }.${random.pick(["a", "b"])}`
      case 6:
        return `join(${this.#list(depth - 1, variables)}, ",")`
      case 7:
        return `(first(${this.#list(depth - 1, variables)}) ?? ${inner()})`
      case 8:
        return `"{{ ${inner()} }} {{ ${inner()} }}"`
      default:
        return `text(length(${this.#list(depth - 1, variables)}))`
    }
  }

  #list(depth: number, variables: readonly string[]): string {
    const random = this.#random
    const name = `v${variables.length}`
    const within = (): string => this.text(Math.max(0, depth - 1), [...variables, name])
    const from =
      depth > 0 && random.chance(0.2)
        ? `l(${this.text(depth - 1, variables)})`
        : random.pick(["input.shops", "input.shops", "input.mails"])
    const when = random.chance(0.3) ? ` when ${within()} != "1"` : ""
    const by = random.chance(0.2) ? ` by ${within()}` : ""
    return `[${within()} for ${name} in ${from}${when}${by}]`
  }
}

/** One context: each result tells of all that it was given, and of how often. */
const leaking: CodeHost = {
  open: () => {
    let state = 0
    return {
      callAll: (calls) =>
        Promise.resolve(
          calls.map(({ args, name, seed }): CodeAnswer => {
            for (const letter of `${args}${seed.split("/").at(-1) ?? ""}`)
              state = (state * 31 + letter.charCodeAt(0)) % 1_000_003
            const text = String(state % 3)
            return { kind: "value", text: JSON.stringify(name === "l" ? [text, "y"] : text), logs: "", cpuMs: 0 }
          }),
        ),
      close: () => undefined,
    }
  },
  check: () => Promise.reject(new Error("Nothing is loaded")),
}

/** What the tool is called with; null where an expression failed. */
async function acts(plan: Plan, input: JsonObject): Promise<JsonValue[] | null> {
  const { signal } = new AbortController()
  const code = new RunCode({
    host: () => Promise.resolve(leaking),
    use: { leftMs: 1000, logLeft: 0 },
    seed: "run",
    share: "",
    now: () => 0,
    signal,
    busy: (work) => work,
  })
  const called: JsonValue[] = []
  const effects: Effects = {
    ...noEffects,
    call: async ({ input: entries }, scope) => {
      called.push(await evaluateEntries(entries, scope, effects))
      return "done"
    },
  }
  const dynamics = new Map<string, JsonValue>()
  const at = (path: string): Scope => {
    return { ...emptyScope, input, dynamics, path, functions: plan, work: new EvaluationWork(), code }
  }
  try {
    for (const node of plan.nodes) {
      if (node.kind === "dynamic") dynamics.set(node.name, await evaluateEffects(node.value, at(node.id), effects))
      if (node.kind !== "output") continue
      for (const { key, value } of node.fields) await evaluateEffects(value, at(`output.${key}`), effects)
    }
  } catch (error) {
    if (error instanceof RunFailure) return null
    throw error
  }
  return called
}

test("what strangers wrote does not change what acts, whatever code keeps", async () => {
  const programs = atStrength(600, 20_000)
  const found = { accepted: 0, refused: 0, compared: 0 }
  for (let index = 0; index < programs; index++) {
    const writer = new Writer(new Random(soakSeed + index))
    const source = `${head}
dynamic { d: ${writer.text(2, []).replaceAll("dynamic.d", "input.shop")} }
output { made: call tool.act { input { to: ${writer.text(3, [])} } } }`
    const { plan, diagnostics } = compile(source, { modules: { "code.js": "" } })
    if (plan === undefined) {
      // Texts that are written out may be compared in vain.
      if (diagnostics.filter(isError).every(({ code }) => code === "untrusted-action")) found.refused++
      continue
    }
    found.accepted++
    const shared = { shop: "s", shops: ["p", "q"] }
    const one = await acts(plan, { ...shared, mail: "m", mails: ["a", "b"] })
    // How many there are may be told: a list of untrusted texts has a trusted length.
    for (const mails of [
      ["n", "b"],
      ["c", "d"],
    ]) {
      const other = await acts(plan, { ...shared, mail: "n", mails })
      if (one === null || other === null) continue
      found.compared++
      assert.deepEqual(other, one, `seed ${soakSeed + index}: ${source}`)
    }
  }
  assert.ok(found.accepted > programs / 20 && found.refused > programs / 20, JSON.stringify(found))
  assert.ok(found.compared > found.accepted, JSON.stringify(found))
})
