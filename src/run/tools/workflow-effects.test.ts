import assert from "node:assert/strict"
import { test } from "node:test"
import type { Expression } from "../../plan/expression.ts"
import type { Plan } from "../../plan/plan-shape.ts"
import { call, dynamic, entries, lit, object, output, plan, ref, tool } from "../../../test/support/build-plan.ts"
import { record, string } from "../../../test/support/build-types.ts"
import type { ServedTool } from "../../../test/support/in-process-tools.ts"
import { InProcessTools } from "../../../test/support/in-process-tools.ts"
import { dataOf, errorOf, resultOf, runPlan, typesOf } from "../../../test/support/run-plan.ts"
import { ScriptedModel } from "../../../test/support/scripted-model.ts"
import { toText } from "../values/value-builders.ts"
import { failure } from "../../ports/run-failure.ts"

const model = new ScriptedModel(() => assert.fail("no model is called here"))

const find = (answer: ServedTool["call"]): ServedTool => ({ input: record({ q: string }), call: answer })
const echo = find(({ q }) => ({ text: `found ${toText(q ?? null)}`, is_error: false }))

function calling(value: Expression, more: Partial<Plan["tools"][string]> = {}): Plan {
  return plan([dynamic("d", value), output({ d: ref("dynamic.d") })], {
    tools: { find: tool({ remote: "find", ...more }) },
  })
}

test("a call of the workflow's own: events, arguments, result", async () => {
  const tools = new InProcessTools({ tools: { find: echo } })
  const outcome = await runPlan(calling(call("find", { q: ref("input.q") })), { model, tools, input: { q: "x" } })
  assert.deepEqual(resultOf(outcome), { d: "found x" })
  assert.deepEqual(typesOf(outcome.events).slice(3), [
    "tool_call_started",
    "tool_call_completed",
    "dynamic_resolved",
    "workflow_completed",
  ])
  const started = dataOf(outcome.events, "tool_call_started")[0]
  assert.deepEqual([started?.dynamic, started?.agent, started?.tool], ["d", undefined, "find"])
  assert.deepEqual(started?.arguments, { q: "x" })
  assert.equal(started?.site, call("find", {}).site)
})

test("effects beside each other happen side by side; those that are not needed never happen", async () => {
  let open = 0
  let most = 0
  const slow = find(async ({ q }) => {
    most = Math.max(most, ++open)
    await new Promise((next) => setImmediate(next))
    open--
    return { text: toText(q ?? null), is_error: false }
  })
  const tools = new InProcessTools({ tools: { find: slow } })
  const both = object({
    a: call("find", { q: lit("a") }, { site: "a" }),
    b: { op: "array", items: [call("find", { q: lit("b") }, { site: "b" }), lit(1)] },
    c: { op: "default", left: lit("there"), right: call("find", { q: lit("never") }, { site: "c" }) },
    d: { op: "default", left: lit(null), right: call("find", { q: lit("d") }, { site: "d" }) },
    e: { op: "text", parts: ["<", call("find", { q: lit("e") }, { site: "e" }), ">"] },
    f: call("find", { q: call("find", { q: lit("inner") }, { site: "f1" }) }, { site: "f2" }),
  })
  const outcome = await runPlan(calling(both), { model, tools })
  assert.deepEqual(resultOf(outcome), { d: { a: "a", b: ["b", 1], c: "there", d: "d", e: "<e>", f: "inner" } })
  assert.equal(
    tools.calls.some(({ values }) => values["q"] === "never"),
    false,
  )
  assert.ok(most >= 4)
})

test("untyped results are checked when they are read", async () => {
  const tools = new InProcessTools({ tools: { find: find(() => ({ text: '{"items":[1]}', is_error: false })) } })
  const read = (path: string): Expression => ({
    op: "chain",
    base: call("find", { q: lit("") }),
    steps: [{ step: "field", name: path, optional: false }],
    text: `dynamic.d.${path}`,
  })
  assert.deepEqual(resultOf(await runPlan(calling(read("items")), { model, tools })), { d: [1] })
  const failed = await runPlan(calling(read("rows")), { model, tools })
  assert.equal(
    errorOf(failed).message,
    "Cannot evaluate dynamic.d.rows: the field rows is not there, found an object with the field items",
  )
  assert.equal(errorOf(failed).issues[0]?.path, "dynamic.d")
})

test("an error of the tool, a failing transport and arguments that do not fit fail the run", async () => {
  const asked = call("find", { q: ref("input.q") })
  const cases: [ServedTool, unknown, string, RegExp][] = [
    [find(() => ({ text: "quota used up", is_error: true })), "x", "tool_error", /find: quota used up/],
    [find(() => Promise.reject(failure("tool_error", "tool.find", "gone"))), "x", "tool_error", /gone/],
    [echo, 5, "evaluation_error", /Cannot evaluate call tool\.find: .*string/],
  ]
  for (const [served, q, kind, message] of cases) {
    const tools = new InProcessTools({ tools: { find: served } })
    const outcome = await runPlan(calling(asked), { model, tools, input: { q: q as string } })
    assert.equal(errorOf(outcome).kind, kind)
    assert.match(errorOf(outcome).message, message)
    assert.equal(errorOf(outcome).issues[0]?.path, "dynamic.d")
  }
})

test("max_calls of the workflow's own calls is a limit", async () => {
  const tools = new InProcessTools({ tools: { find: echo } })
  const twice: Expression = {
    op: "array",
    items: [call("find", { q: lit("a") }, { site: "a" }), call("find", { q: lit("b") }, { site: "b" })],
  }
  const outcome = await runPlan(calling(twice, { max_calls: 1 }), { model, tools })
  assert.equal(errorOf(outcome).kind, "limit_exceeded")
  assert.match(errorOf(outcome).message, /find may be called once \(max_calls\)/)
  assert.ok(tools.calls.length <= 1)
})

test("read gives text, or parsed JSON when the media type says so; render gives text", async () => {
  const tools = new InProcessTools({
    resources: {
      page: { variables: [], read: () => ({ text: '{"a":1}', media_type: "text/plain" }) },
      data: {
        variables: ["id"],
        read: ({ id }) => ({
          text: `{"id":"${toText(id ?? null)}"}`,
          media_type: "application/vnd.x+json; charset=utf-8",
        }),
      },
    },
    prompts: {
      hello: {
        arguments: [{ name: "who", required: false }],
        render: ({ who }) => [
          { role: "user", text: `Hello ${toText(who ?? null)}`, images: [] },
          { role: "assistant", text: "Hi", images: [] },
        ],
      },
    },
  })
  const reading = plan(
    [
      dynamic("page", { op: "read", resource: "page", bindings: [], site: "site 1", text: "read resource.page" }),
      dynamic("data", {
        op: "read",
        resource: "data",
        bindings: entries({ id: ref("secrets.id") }),
        site: "site 2",
        text: "read",
      }),
      dynamic("hello", {
        op: "render",
        prompt: "hello",
        bindings: entries({ who: lit("Bo") }),
        site: "site 3",
        text: "render",
      }),
      output({ page: ref("dynamic.page"), data: ref("dynamic.data"), hello: ref("dynamic.hello") }),
    ],
    {
      servers: { s: { endpoint: lit("http://x.test"), headers: [] } },
      resources: {
        page: { server: "s", remote: "page", bindings: [] },
        data: { server: "s", remote: "data", bindings: [] },
      },
      prompts: { hello: { server: "s", remote: "hello", bindings: [] } },
    },
  )
  const outcome = await runPlan(reading, { model, tools, secrets: { id: "secret-id-1" } })
  assert.deepEqual(resultOf(outcome), { page: '{"a":1}', data: { id: "[secret:id]" }, hello: "Hello Bo\n\nHi" })
  const read = dataOf(outcome.events, "resource_read").map(({ name, site, value }) => [name, { site, value }] as const)
  assert.deepEqual(Object.fromEntries(read), {
    data: { site: "site 2", value: { id: "[secret:id]" } },
    page: { site: "site 1", value: '{"a":1}' },
  })
  const [rendered] = dataOf(outcome.events, "prompt_rendered")
  assert.equal(rendered?.site, "site 3")
  assert.deepEqual(rendered?.messages, [
    { role: "user", text: "Hello Bo" },
    { role: "assistant", text: "Hi" },
  ])
  assert.ok(!JSON.stringify(outcome.events).includes("secret-id-1"))
})

test("a server that cannot be reached fails the run after it was planned", async () => {
  const tools = {
    open: () => Promise.reject(failure("tool_error", "mcp.s", "Cannot reach the server")),
  }
  const outcome = await runPlan(calling(call("find", { q: lit("x") })), { model, tools })
  assert.deepEqual(typesOf(outcome.events), ["workflow_started", "workflow_planned", "workflow_failed"])
  assert.equal(errorOf(outcome).kind, "tool_error")
})
