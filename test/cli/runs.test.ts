import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, test } from "node:test"
import { ada, hello, startService } from "../contract/http/start-service.ts"
import { startServer } from "../support/http-server.ts"
import { folderWith, runWire, type Ended } from "./run-wire.ts"
import { soakTest } from "../support/strength.ts"

const asks = `
ask review {
    question: "Publish?"
    to: "editors"
    output { publish: boolean  note: maybe string  title: string }
}
output { published: ask.review.publish }
`

const approves = `
input { title: string }
mcp library { endpoint: "demo" }
tool reserve from mcp.library.tool.reserve {
    approval { question: "Reserve {{ input.title }}?", show: "Shown with it" }
}
dynamic { done: call tool.reserve { input { title: input.title  reader: "Ada" } } }
output { done: dynamic.done }
`

describe("wire runs, questions and answer", async () => {
  const service = await startService({
    API_KEYS: "ann:key-of-ann,bob:key-of-bob",
    OPERATOR_KEYS: "ops:key-of-ops",
    GROUPS: "editors:bob",
  })
  const wire = (name: string, ...args: string[]): Promise<Ended> =>
    runWire(args, { env: { WIRE_URL: service.url, WIRE_KEY: `key-of-${name}` } })
  const ofAnn = { authorization: "Bearer key-of-ann" }
  const start = async (workflow_source: string, input = {}): Promise<string> => {
    const response = await service.post("/execute", { workflow_source, input }, ofAnn)
    await response.arrayBuffer()
    return response.headers.get("x-service-run-id") ?? ""
  }
  const json = <T>({ code, out, err }: Ended): T => {
    assert.equal(code, 0, err)
    return JSON.parse(out) as T
  }

  test("list, show, events, rerun and delete", async () => {
    const run_id = await start(hello, ada)
    const ids = (ended: Ended): string[] => json<{ runs: { run_id: string }[] }>(ended).runs.map((run) => run.run_id)
    assert.deepEqual(ids(await wire("ann", "runs", "--status", "completed", "--since", "1h")), [run_id])
    assert.deepEqual(ids(await wire("bob", "runs")), [])
    assert.deepEqual(ids(await wire("ops", "runs", "--limit", "1")), [run_id])
    assert.deepEqual(ids(await wire("ann", "runs", "--error-kind", "timeout")), [])
    assert.equal(json<{ status: string }>(await wire("ann", "runs", "show", run_id)).status, "completed")
    const events = (await wire("ann", "runs", "events", run_id)).out.trim().split("\n")
    assert.equal((JSON.parse(events.at(-1) ?? "") as { type: string }).type, "workflow_completed")
    const again = json<{ run_id: string }>(await wire("ann", "runs", "rerun", run_id))
    assert.notEqual(again.run_id, run_id)
    const followed = await wire("ann", "runs", "rerun", run_id, "--from", "agent.reply", "--follow")
    assert.match(followed.out, /"agent_completed"[\s\S]*"workflow_completed"/)
    const given = join(folderWith({ "given.json": '{ "agent.reply": { "message": "by hand" } }' }), "given.json")
    const forked = await wire("ann", "runs", "rerun", run_id, "--given", given, "--follow")
    assert.match(forked.out, /"step_reused"[\s\S]*by hand[\s\S]*"given": ?true/)
    assert.deepEqual(json(await wire("ops", "runs", "delete", run_id)), { run_id, deleted: true })
    const gone = await wire("ann", "runs", "show", run_id)
    assert.deepEqual([gone.code, gone.out], [1, ""])
    assert.match(gone.err, /^This run was deleted/)
  })

  test("runs with a score are exported as lines of JSON", async () => {
    const workflow = "input { text: string }\noutput { copy: input.text }"
    const [bad, good] = [await start(workflow, { text: "one" }), await start(workflow, { text: "two" })]
    for (const [run_id, value] of [
      [bad, "bad"],
      [good, "good"],
    ] as const) {
      const given = await service.post(`/execute/${run_id}/scores`, { name: "helpful", value }, ofAnn)
      assert.equal(given.status, 200)
    }
    const file = join(folderWith({}), "bad.jsonl")
    const ended = await wire("ann", "runs", "export", "--score", "helpful:bad", "--out", file)
    assert.deepEqual(json(ended), { file, runs: 1 })
    const [line = "", ...rest] = readFileSync(file, "utf8").trimEnd().split("\n")
    assert.deepEqual(rest, [])
    const { scores, ...run } = JSON.parse(line) as { scores: { name: string; value: string }[] }
    assert.deepEqual(run, { run_id: bad, workflow: null, input: { text: "one" }, output: { copy: "one" } })
    assert.deepEqual(
      scores.map(({ name, value }) => [name, value]),
      [["helpful", "bad"]],
    )
    const nowhere = await wire("ann", "runs", "export", "--out", join(file, "below"))
    assert.deepEqual([nowhere.code, nowhere.out], [1, ""])
  })

  test("a question is found and answered, by its step's name or its id", async () => {
    const run_id = await start(asks)
    const { questions } = json<{ questions: { id: string; run_id: string }[] }>(await wire("bob", "questions"))
    const id = questions.find((question) => question.run_id === run_id)?.id ?? ""
    assert.deepEqual(json<typeof questions>(await wire("ann", "questions")), { questions: [] })
    const none = await wire("bob", "answer", run_id, "review")
    assert.deepEqual([none.code, none.out], [2, ""])
    assert.match(none.err, /^\? ask\.review, for editors\n {2}│ Publish\?\n/)
    assert.match(none.err, /\nGive the answer as field=value\. Its fields are publish, note, title\.\n$/)
    const unknown = await wire("bob", "answer", run_id, "reviw", "publish=true")
    assert.match(unknown.err, new RegExp(`no open question reviw. Open are ${id} \\(review\\)`))
    const misfit = await wire("bob", "answer", run_id, id, "publish=maybe", "title=x")
    assert.equal(misfit.code, 1)
    assert.match(misfit.err, /publish/)
    const operator = await wire("ops", "answer", run_id, "review", "publish=true", "title=x")
    assert.match(operator.err, /operator's/)
    // Text stays text.
    const answered = await wire("bob", "answer", run_id, "review", "publish=true", "title=true", "--by", "Bob")
    const { answer, answered_by } = json<{ answer: unknown; answered_by: unknown }>(answered)
    assert.deepEqual(answer, { publish: true, note: null, title: "true" })
    assert.deepEqual(answered_by, { caller: "bob", by: "Bob" })
  })

  test("without a terminal an approval needs the digest of the call that is shown", async () => {
    const run_id = await start(approves, { title: "Owls" })
    const blind = await wire("ann", "answer", run_id, "reserve", "approve=true")
    assert.deepEqual([blind.code, blind.out], [2, ""])
    const shown = [/tool\.reserve wants to be called/, /│ Reserve Owls\?/, /│ Shown with it/, /"reader": "Ada"/]
    for (const one of shown) assert.match(blind.err, one)
    const [digest = ""] = /sha256:[0-9a-f]{64}/.exec(blind.err) ?? []
    assert.match(blind.err, new RegExp(`An approval needs the digest .* --digest ${digest}`))
    const other = `sha256:${"0".repeat(64)}`
    const wrong = await wire("ann", "answer", run_id, "reserve", "approve=true", "--digest", other)
    assert.equal(wrong.code, 1)
    assert.match(wrong.err, /does not match this question/)
    const right = await wire("ann", "answer", run_id, "reserve", "approve=false", "note=no", "--digest", digest)
    assert.deepEqual(json<{ answer: unknown }>(right).answer, { approve: false, note: "no" })
  })

  test("a run is cancelled; one that has not ended is not deleted", async () => {
    const run_id = await start(asks)
    const refused = await wire("ann", "runs", "delete", run_id)
    assert.equal(refused.code, 1)
    assert.match(refused.err, /has not ended/)
    assert.equal(json<{ run_id: string }>(await wire("ops", "runs", "cancel", run_id)).run_id, run_id)
    const events = await wire("ann", "runs", "events", run_id, "--follow")
    assert.match(events.out, /"workflow_cancelled"/)
  })

  soakTest("wrong command lines, keys and addresses", async () => {
    for (const [args, sentence] of [
      [["runs", "--status", "over"], /--status must be one of/],
      [["runs", "--since", "yesterday"], /--since must be/],
      [["runs", "--limit", "0"], /--limit must be/],
      [["runs", "--url", "ftp://x"], /--url must be/],
      [["runs", "shwo", "x"], /too many arguments/],
      [["runs", "rerun", "x", "--secrets-file", "/nowhere"], /\/nowhere/],
    ] as const) {
      const ended = await wire("ann", ...args)
      assert.equal(ended.code, 2, args.join(" "))
      assert.match(ended.err, sentence)
    }
    const unknown = await wire("nobody", "runs")
    assert.equal(unknown.code, 1)
    assert.match(unknown.err, /key is not known[\s\S]*--key or WIRE_KEY/)
    const nowhere = await runWire(["runs", "--url", "http://127.0.0.1:9", "--json"], { cwd: folderWith({}) })
    assert.equal(nowhere.code, 1)
    assert.match(nowhere.err, /http:\/\/127\.0\.0\.1:9 cannot be reached/)
  })

  test("the address of something else is a sentence, not a bug", async (t) => {
    for (const body of ["{}", '{"runs":[5],"questions":[5]}', "[]", "<html>"]) {
      const other = await startServer((_, response) => response.end(body))
      t.after(() => other.close())
      for (const args of [["runs"], ["questions"], ["runs", "events", "x"]]) {
        const { code, err } = await runWire([...args, "--url", other.origin], { cwd: folderWith({}) })
        assert.equal(code, 1, `${args.join(" ")} of ${body}: ${err}`)
        assert.match(err, /^The (?:answer of http:\S+ cannot be read|service answered with status 200 and nothing)/)
      }
    }
  })
})
