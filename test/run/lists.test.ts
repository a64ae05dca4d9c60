import assert from "node:assert/strict"
import { test } from "node:test"
import { MemoryStore } from "../../src/adapters/memory/memory-store.ts"
import { systemClock } from "../../src/adapters/system/system-clock.ts"
import type { JsonObject } from "../../src/base/json-value.ts"
import { compile } from "../../src/compile.ts"
import type { LogEvent } from "../../src/log/events.ts"
import type { Plan } from "../../src/plan/plan-shape.ts"
import { failure } from "../../src/ports/run-failure.ts"
import { toText } from "../../src/run/values/value-builders.ts"
import { record, string } from "../support/build-types.ts"
import { InProcessTools } from "../support/in-process-tools.ts"
import type { Attempt, Outcome } from "../support/run-plan.ts"
import { dataOf, errorOf, resultOf, runPlan, defaultOptions } from "../support/run-plan.ts"
import { answers, lastText, ScriptedModel } from "../support/scripted-model.ts"

// Lists from lists that call: each item is a call of its own, made once.

const head = `
provider p from openai { endpoint: "https://x.test/v1" }
model m from p { id: "m-1" }
mcp s { endpoint: "https://tools.test" }
tool fetch from mcp.s.tool.fetch { idempotent: true }
resource page from mcp.s.resource.page
prompt style from mcp.s.prompt.style
`

function planOf(source: string): Plan {
  const { plan, diagnostics } = compile(`${head}\n${source}`)
  if (plan === undefined) throw new Error(diagnostics.map((found) => `${found.path}: ${found.message}`).join("\n"))
  return plan
}

/** Answers after a few turns of the event loop, the later ones sooner; a `url` that begins with `bad` fails. */
function tools(onCall: (url: string) => void = () => undefined): InProcessTools & { most: number } {
  let open = 0
  const host = Object.assign(
    new InProcessTools({
      tools: {
        fetch: {
          input: record({ url: string }),
          idempotent: true,
          call: async ({ url }) => {
            onCall(toText(url ?? null))
            host.most = Math.max(host.most, ++open)
            for (let turn = 20 - toText(url ?? null).length; turn > 0; turn--)
              await new Promise((go) => setImmediate(go))
            open--
            return { text: `page ${toText(url ?? null)}`, is_error: toText(url ?? null).startsWith("bad") }
          },
        },
      },
      resources: {
        page: {
          variables: ["url"],
          read: ({ url }) => {
            if (toText(url ?? null).startsWith("bad")) throw failure("tool_error", "", "gone")
            return { text: `text of ${toText(url ?? null)}`, media_type: null }
          },
        },
      },
      prompts: {
        style: {
          arguments: [{ name: "url", required: true }],
          render: ({ url }) => [{ role: "user", text: `as ${toText(url ?? null)}`, images: [] }],
        },
      },
    }),
    { most: 0 },
  )
  return host
}

const model = (): ScriptedModel =>
  new ScriptedModel((request) => answers({ text: `said ${lastText(request)}` }, request))

async function run(source: string, attempt: Partial<Attempt> = {}): Promise<Outcome> {
  const outcome = await runPlan(planOf(source), { model: model(), tools: tools(), ...attempt })
  assert.deepEqual(outcome.bugs, [])
  return outcome
}

const fetching = `
input { urls: [string] }
dynamic {
    pages: [call tool.fetch { input { url: u } } for u in input.urls when u != "skip" by u descending]
}
output { pages: dynamic.pages }
`

test("a binding of a call in a list may be the item", async () => {
  const source = `input { urls: [string] }
    output { pages: [call tool.fetch { bindings { url: "{{ u }}!" } } for u in input.urls] }`
  assert.deepEqual(resultOf(await run(source, { input: { urls: ["a", "b"] } })), { pages: ["page a!", "page b!"] })
})

test("each item is a call, at most as many at a time as the run may, in the order of the list", async () => {
  const host = tools()
  const urls = ["a", "skip", "ccc", "bb", "d"]
  const outcome = await run(fetching, { tools: host, input: { urls }, options: { max_concurrency: 2 } })
  assert.deepEqual(resultOf(outcome), { pages: ["page d", "page ccc", "page bb", "page a"] })
  assert.equal(host.most, 2)
  const started = dataOf(outcome.events, "tool_call_started")
  assert.deepEqual(
    started.map(({ items, site, dynamic, arguments: sent }) => ({ items, site, dynamic, sent })),
    ["d", "ccc", "bb", "a"].map((url, position) => ({
      items: [position],
      site: "dynamic.pages/call fetch",
      dynamic: "pages",
      sent: { url },
    })),
  )
  for (const { items, call_id } of dataOf(outcome.events, "tool_call_completed")) {
    assert.deepEqual(items, started.find((start) => start.call_id === call_id)?.items)
  }
})

test("lists in lists, reads, renders and the items of a loop have positions of their own", async () => {
  const source = `
input { groups: [[string]] }
dynamic { read: [[read resource.page { bindings { url: u } } for u in group] for group in input.groups] }
agent each for group in input.groups {
    model: model.m
    dynamic { styles: [render prompt.style { bindings { url: u } } for u in group when u != "a"] }
    instruction: "{{ dynamic.styles }} {{ [call tool.fetch { input { url: u } } for u in [call tool.fetch { input { url: v } } for v in group]] }}"
    output { text: string }
}
output { read: dynamic.read, each: agent.each.*.text }
`
  const outcome = await run(source, { input: { groups: [["a", "b"], [], ["c"]] } })
  assert.deepEqual(resultOf(outcome), {
    read: [["text of a", "text of b"], [], ["text of c"]],
    each: ['said ["as b"] ["page page a","page page b"]', "said [] []", 'said ["as c"] ["page page c"]'],
  })
  const places = (type: "resource_read" | "prompt_rendered" | "tool_call_started"): string[] =>
    dataOf(outcome.events, type)
      .map(({ iteration, items, site }) => `${site?.split("/")[1]} ${iteration ?? ""}/${items?.join(".")}`)
      .toSorted()
  assert.deepEqual(places("resource_read"), ["read page /0.0", "read page /0.1", "read page /2.0"])
  assert.deepEqual(places("prompt_rendered"), ["render style 0/0", "render style 2/0"])
  assert.deepEqual(places("tool_call_started"), [
    "call fetch (2) 0/0",
    "call fetch (2) 0/1",
    "call fetch (2) 2/0",
    "call fetch 0/0",
    "call fetch 0/1",
    "call fetch 2/0",
  ])
})

/** Remembers each append as the engine made it. */
class Recording extends MemoryStore {
  readonly appends: (readonly LogEvent[])[] = []
  override append(lease: Parameters<MemoryStore["append"]>[0], events: readonly LogEvent[]): Promise<void> {
    this.appends.push([...events])
    return super.append(lease, events)
  }
}

async function crashedAfter(appends: readonly (readonly LogEvent[])[], input: JsonObject): Promise<MemoryStore> {
  const store = new MemoryStore(systemClock)
  const request = { source: "", input, secrets: {}, options: defaultOptions }
  const created = await store.create(
    { run_id: "r", caller: "", request, created_at: Date.now(), idempotency: null },
    "dead",
    60_000,
  )
  if (created.outcome !== "created") throw new Error(created.outcome)
  for (const events of appends) await store.append(created.lease, events)
  await store.release(created.lease)
  return store
}

test("killed after any append, the run makes no call again that the log has the outcome of", async () => {
  const source = `
input { urls: [string] }
dynamic {
    pages: [[call tool.fetch { input { url: u } on_failure: skip }, read resource.page { bindings { url: u } on_failure: skip }] for u in input.urls]
}
output { pages: dynamic.pages }
`
  const input = { urls: ["a", "bad", "ccc", "a"] }
  const recording = new Recording(systemClock)
  const whole = await run(source, { store: recording, input, run_id: "r" })
  const expected = [
    ["page a", "text of a"],
    [null, null],
    ["page ccc", "text of ccc"],
    ["page a", "text of a"],
  ]
  assert.deepEqual(resultOf(whole), { pages: expected })
  const skipped = dataOf(whole.events, "step_skipped")
  assert.deepEqual(
    skipped.map(({ step, site, items, error }) => `${step} ${site} ${items?.join(".")} ${error?.kind}`).toSorted(),
    ["dynamic.pages dynamic.pages/call fetch 1 tool_error", "dynamic.pages dynamic.pages/read page 1 tool_error"],
  )
  for (let count = 1; count < recording.appends.length; count++) {
    const before = recording.appends.slice(0, count).flat()
    const ended = before.filter(({ type }) => type === "tool_call_completed" || type === "tool_call_failed")
    const made: string[] = []
    const store = await crashedAfter(recording.appends.slice(0, count), input)
    const host = tools((url) => made.push(url))
    const outcome = await run(source, { store, input, run_id: "r", resumed: "crashed", tools: host })
    assert.deepEqual(resultOf(outcome), { pages: expected }, `after ${count} appends`)
    assert.equal(made.length, 4 - ended.length, `after ${count} appends`)
    assert.equal(dataOf(outcome.events, "step_skipped").length, 2, `after ${count} appends`)
    assert.equal(dataOf(outcome.events, "tool_call_started").length, 4, `after ${count} appends`)
  }
})

test("a failed item fails the run, and no further one begins", async () => {
  const made: string[] = []
  const urls = ["a", "bad", ...Array.from({ length: 50 }, (_, index) => `u${index}`)]
  const host = tools((url) => made.push(url))
  const source = fetching.replace(" by u descending", "")
  const outcome = await run(source, { tools: host, input: { urls }, options: { max_concurrency: 2 } })
  assert.equal(errorOf(outcome).kind, "tool_error")
  assert.ok(made.length < 10, `${made.length} calls`)
})

test("more items that call than the operator allows are refused before the first call; elements that `when` drops do not count", async () => {
  const made: string[] = []
  const attempt = (urls: string[]): Promise<Outcome> =>
    run(fetching, { input: { urls }, limits: { maxIterations: 3 }, tools: tools((url) => made.push(url)) })
  const error = errorOf(await attempt(["a", "b", "c", "d"]))
  assert.deepEqual(
    [error.kind, error.issues],
    [
      "limit_exceeded",
      [{ path: "dynamic.pages", message: "dynamic.pages would make calls for 4 items; at most 3 are allowed" }],
    ],
  )
  assert.deepEqual(made, [])
  resultOf(await attempt(["a", "b", "skip", "c", "skip"]))
  // Without calls the number of elements is no matter.
  const pure = `input { urls: [string] } output { urls: [u for u in input.urls] }`
  resultOf(await run(pure, { input: { urls: ["a", "b", "c", "d"] }, limits: { maxIterations: 3 } }))
})

test("results that are too large together are refused", async () => {
  const source = `input { urls: [string] } output { pages: [read resource.page { bindings { url: u } } for u in input.urls] }`
  const input = { urls: Array.from({ length: 40 }, (_, index) => `${index}`.padEnd(100, "x")) }
  const error = errorOf(await run(source, { input, limits: { valueBytes: 2000 } }))
  assert.equal(error.kind, "payload_too_large")
})

test("max_calls counts the items of a list, and ends the run in spite of `on_failure: skip` only by a limit", async () => {
  const source = `
input { urls: [string] }
dynamic { pages: [call tool.fetch { input { url: u } max_calls: 2 } for u in input.urls] }
output { pages: dynamic.pages }
`
  assert.equal(errorOf(await run(source, { input: { urls: ["a", "b", "c"] } })).kind, "limit_exceeded")
  const limited = `limits { tool_calls: 2 }\n${source.replace("max_calls: 2", "on_failure: skip")}`
  assert.equal(errorOf(await run(limited, { input: { urls: ["a", "b", "c"] } })).kind, "limit_exceeded")
})

test("a re-run takes items over by their facts, wherever they stand now", async () => {
  const first = await run(fetching, { input: { urls: ["a", "b", "c"] } })
  const made: string[] = []
  const second = await run(fetching, {
    store: first.store,
    rerun: { run_id: first.run_id, from: [] },
    input: { urls: ["x", "c", "a", "a"] },
    tools: tools((url) => made.push(url)),
  })
  assert.deepEqual(resultOf(second), { pages: ["page x", "page c", "page a", "page a"] })
  assert.deepEqual(made.toSorted(), ["a", "x"])
  const reused = dataOf(second.events, "step_reused")
  assert.deepEqual(reused.map(({ step, items }) => `${step} ${items?.join(".")}`).toSorted(), [
    "tool.fetch 1",
    "tool.fetch 2",
  ])
})

test("a call that fails is null where it may, in an agent and in the output", async () => {
  const source = `
input { url: string }
agent a { model: model.m  instruction: "{{ call tool.fetch { input { url: input.url } on_failure: skip } ?? "none" }}"  output { text: string } }
output { a: agent.a.text, b: call tool.fetch { input { url: input.url } on_failure: skip }, c: render prompt.style { bindings { url: "c" } on_failure: skip } }
`
  const outcome = await run(source, { input: { url: "bad" } })
  assert.deepEqual(resultOf(outcome), { a: "said none", b: null, c: "as c" })
  assert.deepEqual(
    dataOf(outcome.events, "step_skipped").map(({ step }) => step),
    ["agent.a", "output"],
  )
})
