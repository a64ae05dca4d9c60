import assert from "node:assert/strict"
import { test } from "node:test"
import type { JsonObject, JsonValue } from "../../src/base/json-value.ts"
import { compile } from "../../src/compile.ts"
import { InProcessTools } from "../support/in-process-tools.ts"
import type { Outcome } from "../support/run-plan.ts"
import { errorOf, resultOf, runPlan } from "../support/run-plan.ts"
import { answers, ScriptedModel } from "../support/scripted-model.ts"

// What workflows compute, from the text of an expression to its value.

const input = `input {
    n: integer
    x: number
    s: string
    list: [integer]
    m: maybe integer
    o: object
}
`

const given: JsonObject = { n: 7, x: 2.5, s: "text", list: [3, 1, 2], m: null, o: { n: 4, s: "a", zero: 0 } }

async function run(expression: string, values: JsonObject = given): Promise<Outcome> {
  const { plan, diagnostics } = compile(`${input}output { value: ${expression} }`)
  if (plan === undefined) throw new Error(`${expression}: ${diagnostics.map(({ message }) => message).join("\n")}`)
  const model = new ScriptedModel((request) => answers({ text: "x" }, request))
  const outcome = await runPlan(plan, { model, tools: new InProcessTools({ tools: {} }), input: values })
  assert.deepEqual(outcome.bugs, [])
  return outcome
}

async function valueOf(expression: string, values?: JsonObject): Promise<JsonValue | undefined> {
  return (resultOf(await run(expression, values)) as JsonObject)["value"]
}

test("arithmetic follows its precedence and gives what JSON can write", async () => {
  const values: readonly (readonly [expression: string, value: JsonValue])[] = [
    ["1 + 2 * 3", 7],
    ["(1 + 2) * 3", 9],
    ["10 - 2 - 3", 5],
    ["2 * 7 % 4", 2],
    ["input.n / 2", 3.5],
    ["-input.n % 4", -3],
    ["7 % -4", 3],
    ["input.x % 1", 0.5],
    ["input.m ?? 0 + 1", 1],
    ["input.m ?? -input.n", -7],
    ["-input.m ?? 3", -3],
    ["- -input.n", 7],
    ["0 * -1", 0],
    ["-0", 0],
    ["-(input.n - 7)", 0],
    ["0.1 + 0.2", 0.1 + 0.2],
    ["input.n\n    - 1\n    + 2", 8],
    ["input.n-1", 6],
    ["input.n -1", 6],
    ["input.n-input.n", 0],
    ["input.n + 1 > input.n && !(input.n * 2 == input.n)", true],
    ["input.list contains 4 - 1", true],
    ["input.o.n * 2 + 1", 9],
    ['"{{ input.n + 1 }} and {{ -input.n }}"', "8 and -7"],
    ["[1 - 2, -1, 2 - -1]", [-1, -1, 3]],
    ["9007199254740990 + 1", 9007199254740991],
    ["input.x * 9007199254740991", 2.5 * 9007199254740991],
  ]
  for (const [expression, value] of values) assert.deepEqual(await valueOf(expression), value, expression)
})

test("arithmetic that has no result is an evaluation error that names the expression", async () => {
  const mistakes: readonly (readonly [expression: string, message: RegExp])[] = [
    ["1 / (input.n - 7)", /^Cannot evaluate 1 \/ \(input\.n - 7\): division by zero$/],
    ["input.n % input.o.zero", /^Cannot evaluate input\.n % input\.o\.zero: division by zero$/],
    ["1e308 * 10.0", /^Cannot evaluate 1e308 \* 10\.0: the result is too large for a number$/],
    ["9007199254740991 + input.n", /^Cannot evaluate 9007199254740991 \+ input\.n: the result is not an exact integer/],
    ["input.o.s + 1", /^Cannot evaluate input\.o\.s \+ 1: \+ takes numbers, found a string$/],
    ["-input.o.s", /^Cannot evaluate -input\.o\.s: - takes a number, found a string$/],
  ]
  for (const [expression, message] of mistakes) {
    const error = errorOf(await run(expression))
    assert.equal(error.kind, "evaluation_error", expression)
    assert.match(error.message, message)
  }
})
