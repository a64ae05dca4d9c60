import { MemoryStore } from "../../../src/adapters/memory/memory-store.ts"
import { systemClock } from "../../../src/adapters/system/system-clock.ts"
import { compile } from "../../../src/compile.ts"
import { runPlan } from "../../support/run-plan.ts"
import { answers, ScriptedModel } from "../../support/scripted-model.ts"
import type { Random } from "../../support/random.ts"
import type { Target } from "./target.ts"

const model = new ScriptedModel((request) => answers({ message: "done" }, request))
const input = {
  list: Array.from({ length: 200 }, (_, index) => ({ a: `item ${index}`, b: null, c: [index] })),
  text: "some text",
}

const tokens = [
  ...'[](){},:.?#*" \n'.split(""),
  "dynamic.d0",
  "dynamic.d1",
  "dynamic.d2",
  "input.list",
  "input.text",
  ".*.a",
  ".**.b",
  ".*.c",
  "[0]",
  "{{ ",
  " }}",
  " ?? ",
  "null",
  "1",
  '"x"',
  "{ a: ",
  "[dynamic.d0, dynamic.d0]",
  "{{ dynamic.d1 }}",
  "{{ input.list }}",
  " == ",
  " && ",
  "!",
  "match ",
  "{ _ 1 }",
]

function expression(random: Random, known: number, depth: number): string {
  const value = (): string => {
    const names = [
      "input.list",
      "input.text",
      "input.list.*.a",
      "input.list.**.b",
      "input.list[0].c",
      "1",
      '"x"',
      "null",
    ]
    return known > 0 && random.chance(0.7)
      ? `dynamic.d${random.chance(0.7) ? known - 1 : random.below(known)}`
      : random.pick(names)
  }
  if (depth <= 0) return value()
  const inner = (): string => expression(random, known, depth - 1)
  switch (random.below(5)) {
    case 0:
      return `[${random.list(random.size(30), inner).join(", ")}]`
    case 1:
      return `{ ${random.list(random.size(12), (i) => `f${i}: ${inner()}`).join(", ")} }`
    case 2:
      return `"${random.list(random.size(20), () => `{{ ${value()} }}`).join(" ")}"`
    case 3:
      return `${value()} ?? ${inner()}`
    default:
      return value()
  }
}

/** Workflows that compute: values that hold each other, texts of texts. */
export const runTarget: Target = {
  name: "workflows that compute",
  tokens,
  make(random, most) {
    let text = "input { list: [{ a: string, b: maybe string, c: [integer] }], text: string }\ndynamic {\n"
    for (let index = 0; index < 60; index++) {
      const field = `d${index}: ${expression(random, index, random.below(3))}\n`
      if (text.length + field.length > most - 60) break
      text += field
    }
    return `${text}}\noutput { last: dynamic.d0, all: [dynamic.d0] }\n`
  },
  async read(source) {
    const { plan } = compile(source)
    // Agents would call somebody, and nobody is there.
    if (plan === undefined || plan.nodes.some((node) => node.kind === "agent")) return
    if (Object.keys(plan.servers).length > 0) return
    const store = new MemoryStore(systemClock)
    const { bugs } = await runPlan(plan, { model, store, input })
    await store.close()
    if (bugs.length > 0) throw bugs[0]
  },
}
