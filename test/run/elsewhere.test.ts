import assert from "node:assert/strict"
import { globSync, readFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { test } from "node:test"
import type { JsonObject, JsonValue } from "../../src/base/json-value.ts"
import { compile } from "../../src/compile.ts"
import { makeValue } from "../../src/demo/make-value.ts"
import { readTopic } from "../../src/demo/topic.ts"
import type { Plan } from "../../src/plan/plan-shape.ts"
import type { HostedTool, HostSession, ToolHost } from "../../src/ports/tools.ts"
import { formatText } from "../../src/syntax/format.ts"
import { toJsonSchema } from "../../src/types/json-schema.ts"
import type { Type } from "../../src/types/types.ts"
import { validateValue } from "../../src/types/validate-value.ts"
import { errorOf, resultOf, runPlan, typesOf } from "../support/run-plan.ts"
import { answers, says, ScriptedModel } from "../support/scripted-model.ts"

// Whole programs as they are written elsewhere. The first lines of each say what the checker says about it: nothing, warnings, or
// one error with its place.

const folder = join(dirname(import.meta.dirname), "fixtures", "elsewhere")
const names = globSync("*.wire", { cwd: folder }).map((path) => basename(path, ".wire"))

test("there are programs", () => assert.ok(names.length >= 30))

for (const name of names.toSorted()) {
  const source = readFileSync(join(folder, `${name}.wire`), "utf8")
  const said = [...source.matchAll(/^\/\/ (warning|error) (.+)$/gm)].map(
    ([, severity, about]) => `${severity} ${about}`,
  )
  const isRefused = said.some((line) => line.startsWith("error"))

  test(`${name} is ${isRefused ? "refused with one message" : "accepted"}`, () => {
    const { diagnostics, plan } = compile(source)
    const found = diagnostics.map(({ severity, code, path }) =>
      severity === "error" ? `error ${code} ${path}` : `warning ${code}`,
    )
    assert.deepEqual(found, said)
    assert.equal(plan === undefined, isRefused)
    for (const { hint = "" } of diagnostics) assert.match(hint, /\w/)
  })

  if (isRefused) continue

  test(`${name} means the same when it is formatted, and runs`, async () => {
    const { plan } = compile(source)
    const result = formatText(source)
    assert.ok(plan !== undefined && "formatted" in result)
    assert.deepEqual(withoutTexts(compile(result.formatted).plan), withoutTexts(plan))
    const model = new ScriptedModel((request) =>
      request.contract === null
        ? says("A summary.", request)
        : answers(made(request.contract.type, plan) as JsonObject, request),
    )
    const outcome = await runPlan(plan, {
      model,
      tools: anyServer(plan),
      input: made(plan.input, plan) as JsonObject,
      secrets: made(plan.secrets, plan) as JsonObject,
    })
    const isDone = typesOf(outcome.events).at(-1) === "workflow_completed"
    assert.ok(isDone, isDone ? "" : JSON.stringify(errorOf(outcome)))
    assert.deepEqual(validateValue(resultOf(outcome), plan.output, plan.types, "output"), [])
  })
}

function made(type: Type, { types }: Plan): JsonValue {
  return makeValue(toJsonSchema(type, types), readTopic("Greet Ada."), new Map(), "elsewhere")
}

/** Layout decides the texts of expressions, which only messages show. */
function withoutTexts(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (key, part: unknown) => (key === "text" ? undefined : part)))
}

/** A server that has all that is imported. Its tools give what is declared, and more at every level. */
function anyServer(plan: Plan): ToolHost {
  const tool: HostedTool = {
    definition: {},
    description: "",
    parameters: { type: "object" },
    typed: false,
    idempotent: false,
    fit: (values) => values,
    checkArguments: () => [],
    checkResult: () => [],
  }
  const all = <T>(table: object, one: T): Map<string, T> => new Map(Object.keys(table).map((name) => [name, one]))
  const session: HostSession = {
    problems: [],
    tools: all(plan.tools, tool),
    resources: all(plan.resources, { description: "", variables: ["workspace_id", "section"], required: [] }),
    prompts: all(plan.prompts, { arguments: [{ name: "readme", required: false }] }),
    published: () => Promise.resolve({}),
    call: (name) => {
      const output = plan.tools[name]?.output ?? null
      const structured = output === null ? "done" : withMore(made(output, plan))
      return Promise.resolve({ structured, text: "", is_error: false })
    },
    read: () => Promise.resolve({ text: "Read.", media_type: null }),
    render: () => Promise.resolve([{ role: "user", text: "Rendered.", images: [] }]),
    close: () => Promise.resolve(),
  }
  return { open: () => Promise.resolve(session) }
}

/** With a field that nothing declares in each object. */
function withMore(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(withMore)
  if (typeof value !== "object" || value === null) return value
  const fields = Object.entries(value).map(([name, one]): [string, JsonValue] => [name, withMore(one)])
  return { ...Object.fromEntries(fields), undeclared_by_the_workflow: true }
}
