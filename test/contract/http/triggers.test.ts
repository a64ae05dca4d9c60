import assert from "node:assert/strict"
import { createHmac } from "node:crypto"
import { mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, it } from "node:test"
import type { TriggersAnswer } from "../../../src/api/triggers.ts"
import type { RunsAnswer } from "../../../src/api/runs.ts"
import type { WorkflowsAnswer } from "../../../src/api/workflows.ts"
import type { Verification } from "../../../src/plan/plan-triggers.ts"
import { signedHeaders } from "../../../src/workflows/triggers/webhook-signature.ts"
import { fakeBackend, json } from "../../support/fake-backend.ts"
import { fc } from "../../support/fast-check.ts"
import { folderOf } from "../../support/workflow-folder.ts"
import { sendRaw } from "../../support/raw-http.ts"
import { within } from "../../support/within.ts"
import { errorOf, startService, type TestService } from "./start-service.ts"
import { atStrength } from "../../support/strength.ts"

const secret = "0123456789abcdef0123"

const pushes = `
input { ref: string, commits: [string], event: string }
secrets { hook_secret: string, old_secret: string }

webhook pushed {
    verify: github
    secret: [secrets.hook_secret, secrets.old_secret]
    when: body.ref == "refs/heads/main"
    input {
        ref: body.ref
        commits: body.commits.*.id
        event: header."X-GitHub-Event" ?? query.event ?? "none"
    }
}

webhook chat {
    verify: slack
    secret: secrets.hook_secret
    input { ref: body.event.text, commits: [], event: "slack" }
}

schedule nightly {
    cron: "0 3 * * *"
    timezone: "Europe/Berlin"
    input { ref: due.at, commits: [due.date], event: "time" }
}

output { ref: input.ref, commits: input.commits, event: input.event }
`

const signed = (body: string, by = secret): Record<string, string> => ({
  "x-hub-signature-256": `sha256=${createHmac("sha256", by).update(body).digest("hex")}`,
})

const push = (ref: string, id: unknown = "1"): string => JSON.stringify({ ref, commits: [{ id }] })

/** A webhook whose sender waits for the output, of a workflow with an agent. */
function replying(endpoint: string, seconds: number): string {
  return `
input { name: string }
secrets { hook_secret: string }
webhook asked {
    verify: github
    secret: secrets.hook_secret
    input { name: body.ref }
    reply_within_seconds: ${seconds}
}
provider p from openai { endpoint: "${endpoint}" inference { max_retries: 0 output_retries: 0 } }
model m from p { id: "m" }
agent reply { model: model.m instruction: "Greet {{ input.name }}." output { message: string } }
output { message: agent.reply.message }
`
}

describe("webhooks whose senders wait", async () => {
  it("get the output of a run that completes in time, the same for a repeated delivery; 202 otherwise", async (t) => {
    const answered = {
      object: "response",
      status: "completed",
      output: [{ type: "message", role: "assistant", content: [{ type: "output_text", text: '{"message":"hi"}' }] }],
    }
    let release = (): void => undefined
    const held = new Promise<void>((resolve) => (release = resolve))
    const { backend, asked } = await fakeBackend(t, ({ body }) => (response, raw) => {
      const text = JSON.stringify(body)
      if (text.includes("Greet fails")) json({ error: { message: "no" } }, 400)(response, raw)
      else if (text.includes("Greet slow")) void held.then(() => json(answered)(response, raw))
      else json(answered)(response, raw)
    })
    const folder = folderOf({
      "fast.wire": replying(backend.endpoint, 30),
      "slow.wire": replying(backend.endpoint, 1),
    })
    const service = await startService({ WORKFLOWS: folder, SECRET_HOOK_SECRET: secret })
    const body = push("fast")
    const first = await service.post("/hooks/fast/asked", body, signed(body))
    assert.equal(first.status, 200)
    assert.deepEqual(await first.json(), { message: "hi" })
    const again = await service.post("/hooks/fast/asked", body, signed(body))
    assert.equal(again.status, 200)
    assert.deepEqual(await again.json(), { message: "hi" })
    assert.equal(asked.length, 1)
    const failing = push("fails")
    const failed = await service.post("/hooks/fast/asked", failing, signed(failing))
    assert.equal(failed.status, 202)
    const slow = push("slow")
    const late = await service.post("/hooks/slow/asked", slow, signed(slow))
    assert.equal(late.status, 202)
    const { run_id } = (await late.json()) as { run_id: string }
    release()
    const record = (await (await service.get(`/execute/${run_id}?wait=30`)).json()) as Record<string, unknown>
    assert.deepEqual(record["output"], { message: "hi" })
  })
})

describe("webhooks", async () => {
  const folder = folderOf({ "git/push.wire": pushes })
  const service = await startService({
    WORKFLOWS: folder,
    SECRET_HOOK_SECRET: secret,
    SECRET_OLD_SECRET: "old-0123456789abcdef",
    API_KEYS: "ada:key-of-ada,bob:key-of-bob",
    OPERATOR_KEYS: "op:key-of-op",
    TRIGGER_CALLER: "ada",
  })
  const ada = { authorization: "Bearer key-of-ada" }
  const hook = "/hooks/git/push/pushed"

  it("start a run that belongs to the trigger caller, without a key", async () => {
    const body = push("refs/heads/main")
    const answer = await service.post(`${hook}?event=q`, body, signed(body))
    assert.equal(answer.status, 202)
    const { run_id } = (await answer.json()) as { run_id: string }
    const record = (await (await service.get(`/execute/${run_id}?wait=30`, ada)).json()) as Record<string, unknown>
    assert.deepEqual(record["output"], { ref: "refs/heads/main", commits: ["1"], event: "q" })
    const { webhook, delivery } = record["trigger"] as { webhook: string; delivery: string }
    assert.equal(webhook, "pushed")
    assert.match(delivery, /^sha256:[0-9a-f]{64}$/)
    assert.equal((await service.get(`/execute/${run_id}`, { authorization: "Bearer key-of-bob" })).status, 404)
    const events = await (await service.get(`/execute/${run_id}/events`, ada)).text()
    assert.match(events, /event: workflow_started\ndata: \{"trigger":\{"webhook":"pushed"/)
  })

  it("the same delivery twice is one run, also when the run is gone; by either secret", async () => {
    const body = push("refs/heads/main", "twice")
    const ids: string[] = []
    const answers = await Promise.all([1, 2, 3].map(() => service.post(hook, body, signed(body))))
    for (const answer of answers) ids.push(((await answer.json()) as { run_id: string }).run_id)
    await service.get(`/execute/${ids[0]}?wait=30`, ada)
    const gone = await fetch(`${service.url}/execute/${ids[0]}`, { method: "DELETE", headers: ada })
    assert.equal(gone.status, 204)
    const again = await service.post(hook, body, signed(body, "old-0123456789abcdef"))
    assert.equal(again.status, 202)
    ids.push(((await again.json()) as { run_id: string }).run_id)
    assert.equal(new Set(ids).size, 1)
  })

  it("are refused without a signature before the body is read, and with a wrong one before anything is parsed", async () => {
    // The body never comes: the answer does.
    const head = `POST ${hook} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n`
    const { answers } = await sendRaw(service.port, head)
    assert.equal(answers[0]?.status, 401)
    const wrong = await errorOf(await service.post(hook, "not json", signed("something else")))
    assert.equal(wrong.status, 401)
    for (const type of ["garbage", "", "text/plain"]) {
      const odd = { ...signed("something else"), "content-type": type }
      assert.equal((await service.post(hook, "not json", odd)).status, 401, type)
    }
    const malformed = await service.post(hook, "{}", { "x-hub-signature-256": "sha256=zz" })
    assert.equal(malformed.status, 401)
    const valid = await service.post(hook, "not json", signed("not json"))
    assert.equal(valid.status, 400)
    assert.equal((await service.post("/hooks/git/push/nothing", "{}", signed("{}"))).status, 404)
    assert.equal((await service.post("/hooks/git/push/nightly", "{}", signed("{}"))).status, 404)
    assert.equal((await service.get(hook)).status, 405)
  })

  it("check the exact bytes", async () => {
    const body = `{ "ref" :"refs/heads/main","commits":[ {"id":"\\u00e9"}]}  \n`
    assert.equal((await service.post(hook, body, signed(body))).status, 202)
    assert.equal((await service.post(hook, body.trim(), signed(body))).status, 401)
  })

  it("say what does not fit: 204, 415, 422, 413", async () => {
    const other = push("refs/heads/other")
    assert.equal((await service.post(hook, other, signed(other))).status, 204)
    const text = await service.post(hook, other, { ...signed(other), "content-type": "text/plain" })
    assert.equal(text.status, 415)
    const odd = await errorOf(await service.post(hook, other, { ...signed(other), "content-type": "garbage" }))
    assert.deepEqual([odd.status, odd.kind], [415, "unsupported_media_type"])
    assert.match(odd.message, /application\/x-www-form-urlencoded/)
    const misfit = push("refs/heads/main", 3)
    const error = await errorOf(await service.post(hook, misfit, signed(misfit)))
    assert.deepEqual([error.status, error.kind, error.issues[0]?.path], [422, "input_error", "input.commits[0]"])
    const { triggers } = (await (await service.get("/triggers", ada)).json()) as TriggersAnswer
    const last = triggers.find(({ name }) => name === "pushed")?.last
    assert.deepEqual([last?.outcome, last?.run_id, last?.error?.kind], ["refused", null, "input_error"])
    const large = JSON.stringify({ ref: "x".repeat(1_100_000) })
    const tooLarge = await errorOf(await service.post(hook, large, signed(large)))
    assert.deepEqual(
      [tooLarge.status, tooLarge.message],
      [413, "The body is larger than 1048576 bytes, which is the most that this route takes: no setting raises it"],
    )
    const empty = await errorOf(await service.post(hook, "", signed("")))
    assert.deepEqual([empty.status, empty.message], [400, "The body is empty: JSON or a form is expected"])
    const form = `payload=${encodeURIComponent("{}")}&ref=a`
    const lacking = await service.post(hook, form, {
      ...signed(form),
      "content-type": "application/x-www-form-urlencoded",
    })
    assert.equal(lacking.status, 204)
  })

  it("a flood of forged deliveries is refused, one log line counts it, and the sender is not locked out", async () => {
    const large = "x".repeat(200_000)
    for (let round = 0; round < atStrength(2, 5); round++) {
      const forged = Array.from({ length: 40 }, () => service.post(hook, large, signed("forged")))
      const right = push("refs/heads/main", `flood ${round}`)
      const [answer, ...refused] = await Promise.all([service.post(hook, right, signed(right)), ...forged])
      assert.equal(answer?.status, 202)
      for (const { status } of refused) assert.equal(status, 401)
    }
  })

  it("no signed body makes a bug of it", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.json(), fc.string(), fc.constantFrom("", "null", "[", '{"__proto__":1}')),
        async (body) => {
          const form = body.length % 3 === 0 ? { "content-type": "application/x-www-form-urlencoded" } : {}
          const { status } = await service.post(hook, body, { ...signed(body), ...form })
          assert.ok([202, 204, 400, 413, 415, 422].includes(status), `${status}: ${body}`)
        },
      ),
      { numRuns: atStrength(15, 40) },
    )
  })

  it("answer Slack as Slack wants it", async () => {
    const at = String(Math.floor(Date.now() / 1000))
    const slack = (body: string): Record<string, string> => ({
      "x-slack-request-timestamp": at,
      "x-slack-signature": `v0=${createHmac("sha256", secret).update(`v0:${at}:${body}`).digest("hex")}`,
    })
    const hello = JSON.stringify({ type: "url_verification", challenge: "c-1" })
    const verified = await service.post("/hooks/git/push/chat", hello, slack(hello))
    assert.deepEqual([verified.status, await verified.text()], [200, "c-1"])
    assert.match(verified.headers.get("content-type") ?? "", /^text\/plain/)
    const event = JSON.stringify({ event_id: "Ev1", event: { text: "hi" } })
    const taken = await service.post("/hooks/git/push/chat", event, slack(event))
    assert.deepEqual([taken.status, await taken.text()], [200, ""])
  })

  it("a paused one is 503 and remembers nothing; only the trigger caller and operators steer it", async () => {
    const steer = (act: string, headers: Record<string, string>): Promise<Response> =>
      fetch(`${service.url}/triggers/git/push/pushed/${act}`, { method: "POST", headers })
    assert.equal((await steer("pause", { authorization: "Bearer key-of-bob" })).status, 404)
    assert.equal((await steer("pause", {})).status, 401)
    assert.equal((await steer("pause", { authorization: "Bearer key-of-op" })).status, 200)
    const body = push("refs/heads/main", "paused")
    assert.equal((await service.post(hook, body, signed(body))).status, 503)
    assert.equal((await steer("resume", ada)).status, 200)
    assert.equal((await service.post(hook, body, signed(body))).status, 202)
    assert.equal((await steer("run", ada)).status, 405)
    assert.equal((await steer("stop", ada)).status, 404)
  })

  it("triggers are listed, and a schedule can be started by hand", async () => {
    assert.equal((await service.get("/triggers", { authorization: "Bearer key-of-bob" })).status, 404)
    const started = await fetch(`${service.url}/triggers/git/push/nightly/run`, { method: "POST", headers: ada })
    assert.equal(started.status, 202)
    const { run_id } = (await started.json()) as { run_id: string }
    await service.get(`/execute/${run_id}?wait=30`, ada)
    const { triggers } = (await (await service.get("/triggers", ada)).json()) as TriggersAnswer
    assert.deepEqual(
      triggers.map(({ kind, name }) => [kind, name]),
      [
        ["webhook", "chat"],
        ["schedule", "nightly"],
        ["webhook", "pushed"],
      ],
    )
    const nightly = triggers[1]
    assert.ok(nightly?.kind === "schedule")
    assert.deepEqual([nightly.cron, nightly.timezone, nightly.paused], ["0 3 * * *", "Europe/Berlin", false])
    assert.ok(Date.parse(nightly.next_at ?? "") > Date.now())
    assert.deepEqual(nightly.last, { run_id, due_at: null, outcome: "started", status: "completed", error: null })
    const { runs } = (await (await service.get("/runs?limit=1", ada)).json()) as RunsAnswer
    assert.deepEqual(runs[0]?.trigger, { schedule: "nightly", due_at: null })
    const shown = (await (await service.get("/runs?include=preview&limit=500", ada)).json()) as RunsAnswer
    const startedBy = shown.runs.map(({ trigger, preview }) => {
      const kind = trigger === undefined ? "request" : "webhook" in trigger ? "webhook" : "schedule"
      return [kind, preview?.started_by]
    })
    assert.deepEqual(new Set(startedBy.map(([kind]) => kind)), new Set(["webhook", "schedule"]))
    for (const [kind, by] of startedBy) assert.equal(by, kind)
    const metrics = await (await service.get("/metrics", ada)).text()
    assert.match(metrics, /wire_trigger_total\{workflow="git\/push",name="nightly",outcome="started"\} 1/)
  })

  it("a secret of webhooks alone is no secret of the runs", async () => {
    const input = { ref: "a", commits: [], event: "e" }
    assert.equal((await service.post("/workflows/git/push/execute", { input }, ada)).status, 200)
    const given = { input, secrets: { hook_secret: "x" } }
    assert.equal((await service.post("/workflows/git/push/execute", given, ada)).status, 422)
  })
})

describe("schedules that go on from their last run", () => {
  const source = (changes: string): string => `
input { before: maybe string, count: maybe integer, since: maybe string }
schedule nightly {
    cron: "0 3 * * *"
    timezone: "Europe/Berlin"
    input { before: previous.output?.text, count: previous.output?.count, since: previous.due_at }
}
schedule other { cron: "0 3 * * *", input { before: previous.output?.text } }
dynamic { count: (input.count ?? 0) + 1 }
${changes}
`
  const output = `output { text: "run {{ dynamic.count }}", count: dynamic.count, given: input }`
  interface Given {
    readonly before: string | null
    readonly count: number | null
    readonly since: string | null
  }
  const start = async (service: TestService, name = "nightly"): Promise<string> => {
    const started = await service.post(`/triggers/digest/${name}/run`, "")
    assert.equal(started.status, 202, await started.clone().text())
    return ((await started.json()) as { run_id: string }).run_id
  }
  const ended = async (service: TestService, run_id: string): Promise<{ given: Given; text: string }> => {
    const record = await (await service.get(`/execute/${run_id}?wait=30`)).json()
    return (record as { output: { given: Given; text: string } }).output
  }

  it("see its output and when it was due; each schedule sees its own runs", async () => {
    const folder = folderOf({ "digest.wire": source(output) })
    const service = await startService({ WORKFLOWS: folder })
    const first = await ended(service, await start(service))
    assert.deepEqual([first.given.before, first.given.count, first.given.since], [null, null, null])
    const before = Date.now()
    const second = await ended(service, await start(service))
    assert.deepEqual([second.given.before, second.given.count], ["run 1", 1])
    assert.match(second.given.since ?? "", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+0[12]:00$/)
    assert.ok(Math.abs(Date.parse(second.given.since ?? "") - before) < 600_000)
    assert.equal((await ended(service, await start(service, "other"))).given.before, null)
    // Runs that callers start are none of the schedule's.
    await service.post("/workflows/digest/execute", { input: {} })
    const third = await start(service)
    assert.deepEqual((await ended(service, third)).given.before, "run 2")
    const rerun = await service.post(`/execute/${third}/rerun`, {})
    assert.equal(rerun.status, 200)
    // A run that is deleted by request is deleted whole.
    assert.equal((await fetch(`${service.url}/execute/${third}`, { method: "DELETE" })).status, 204)
    assert.equal((await ended(service, await start(service))).given.before, null)
    // An output that is none of the file that is served now.
    const version = async (): Promise<unknown> =>
      ((await (await service.get("/workflows/digest")).json()) as { version: unknown }).version
    const old = await version()
    writeFileSync(join(folder, "digest.wire"), source(output.replace(/\}$/, ", more: 1 }")))
    const deadline = Date.now() + 60_000
    while ((await version()) === old) assert.ok(Date.now() < deadline, "the file is not served")
    const changed = await ended(service, await start(service))
    assert.equal(changed.given.before, null)
    assert.notEqual(changed.given.since, null)
    assert.equal((await ended(service, await start(service))).given.before, changed.text)
  })

  it("see it when retention has deleted the run, and after a restart", async () => {
    const settings = {
      WORKFLOWS: folderOf({ "digest.wire": source(output) }),
      STORE: "sqlite",
      DATA_DIR: mkdtempSync(join(tmpdir(), "wireworks-previous-")),
      RETENTION: "1ms",
    }
    const service = await startService(settings)
    const gone = async (one: TestService, run_id: string): Promise<void> => {
      const deadline = Date.now() + 60_000
      while ((await one.get(`/execute/${run_id}`)).status !== 410) assert.ok(Date.now() < deadline, "it is still there")
    }
    await gone(service, await start(service))
    await service.stop()
    const again = await startService({ ...settings, RETENTION: "1h" })
    assert.deepEqual((await ended(again, await start(again))).given.before, "run 1")
  })
})

describe("a signed delivery that is replayed with another content type", async () => {
  const schemes = {
    standard: { scheme: "standard" },
    github: { scheme: "github" },
    stripe: { scheme: "stripe" },
    slack: { scheme: "slack" },
    gitlab: { scheme: "gitlab" },
    hmac: { scheme: "hmac", header: "x-signature", prefix: "", encoding: "hex", algorithm: "sha256" },
  } as const satisfies Record<string, Verification>
  const hooks = Object.keys(schemes).map((name) => {
    const verify = name === "hmac" ? `hmac { header: "X-Signature" }` : name
    return `webhook ${name} { verify: ${verify}, secret: secrets.hook_secret, input { text: body.text ?? "none" } }`
  })
  const source = `
input { text: string }
secrets { hook_secret: string }
${hooks.join("\n")}
output { text: input.text }
`
  const key = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
  const service = await startService({ WORKFLOWS: folderOf({ "all.wire": source }), SECRET_HOOK_SECRET: key })
  const form = "application/x-www-form-urlencoded"
  const runs = async (): Promise<RunsAnswer["runs"]> =>
    ((await (await service.get("/runs?limit=100")).json()) as RunsAnswer).runs

  for (const [name, verify] of Object.entries(schemes)) {
    it(`starts no second run, and none with other fields: ${name}`, async () => {
      const id = `id-of-${name}`
      const body = JSON.stringify({ id, event_id: id, note: "&text=evil&", text: "good" })
      const signature = signedHeaders(verify, Buffer.from(body), key, { id, at: Date.now() })
      const before = (await runs()).length
      // The forged one comes first: it is not remembered as the delivery either.
      const types = [form, "application/json", `${form}; charset=utf-8`, "application/x+json", form.toUpperCase()]
      const taken = verify.scheme === "slack" ? 200 : 202
      for (const type of types) {
        const { status } = await service.post(`/hooks/all/${name}`, body, { ...signature, "content-type": type })
        assert.equal(status, type.toLowerCase().startsWith(form) ? 415 : taken, type)
      }
      const [run, ...others] = await runs()
      assert.equal(others.length, before)
      const record = (await (await service.get(`/execute/${run?.run_id}?wait=30`)).json()) as { output: unknown }
      assert.deepEqual(record.output, { text: "good" })
    })
  }
})

describe("triggers that cannot work", async () => {
  it("the start fails where nobody is named whose runs they are", async () => {
    const WORKFLOWS = folderOf({ "push.wire": pushes })
    const keys = { WORKFLOWS, API_KEYS: "ada:key-of-ada" }
    await assert.rejects(startService(keys), /push\.wire: .*WIRE_TRIGGER_CALLER/)
    await assert.rejects(startService({ ...keys, TRIGGER_CALLER: "bob" }), /"bob": it must be a name of WIRE_API_KEYS/)
  })

  it("a schedule that is started by hand and refused has no Retry-After: later it is the same", async () => {
    const lacking = `
secrets { key: string }
api crm { endpoint: "demo" headers { X-Key: secrets.key } }
tool t from api.crm."GET /contacts" {}
schedule nightly { cron: "@daily" }
output { found: call tool.t }
`
    const service = await startService({ WORKFLOWS: folderOf({ "lacking.wire": lacking }) })
    const answer = await service.post("/triggers/lacking/nightly/run", "")
    assert.deepEqual([answer.status, answer.headers.get("retry-after")], [422, null])
  })

  it("a webhook without its secret is 503, and an issue says so", async () => {
    const service = await startService({ WORKFLOWS: folderOf({ "push.wire": pushes }), SECRET_HOOK_SECRET: "short" })
    assert.equal((await service.post("/hooks/push/pushed", "{}", signed("{}"))).status, 503)
    const { workflows } = (await (await service.get("/workflows")).json()) as WorkflowsAnswer
    const messages = workflows[0]?.issues.map(({ message }) => message) ?? []
    assert.ok(messages.includes("The secret `hook_secret` of the webhook pushed has fewer than 16 characters"))
    assert.ok(messages.includes("The secret `old_secret` of the webhook pushed is missing"))
    const hints = workflows[0]?.issues.map(({ hint }) => hint) ?? []
    assert.ok(hints.includes("Change WIRE_SECRET_HOOK_SECRET, or its value in WIRE_SECRETS_FILE."))
    assert.ok(hints.includes("Set WIRE_SECRET_OLD_SECRET, or put it into WIRE_SECRETS_FILE."))
    assert.equal(workflows[0]?.valid, true)
  })
})

describe("triggers of a file that breaks", () => {
  it("those of its last good version go on, also where the broken file has lost its output", async () => {
    const folder = folderOf({ "push.wire": pushes })
    const service = await startService({ WORKFLOWS: folder, SECRET_HOOK_SECRET: secret, SECRET_OLD_SECRET: secret })
    let late = false
    const until = async (expected: boolean): Promise<void> => {
      for (let valid: boolean | undefined; valid !== expected && !late;) {
        valid = ((await (await service.get("/workflows")).json()) as WorkflowsAnswer).workflows[0]?.valid
      }
    }
    await within(30_000, "the good file", until(true))
    writeFileSync(join(folder, "push.wire"), "schema task { due: nothing }\n")
    await within(30_000, "the broken file", until(false)).finally(() => (late = true))
    const body = push("refs/heads/main", "after")
    const answer = await service.post("/hooks/push/pushed", body, signed(body))
    assert.equal(answer.status, 202)
    const { run_id } = (await answer.json()) as { run_id: string }
    const record = (await (await service.get(`/execute/${run_id}?wait=30`)).json()) as Record<string, unknown>
    assert.equal(record["status"], "completed")
    const { triggers } = (await (await service.get("/triggers")).json()) as TriggersAnswer
    assert.deepEqual(triggers.map(({ name }) => name).toSorted(), ["chat", "nightly", "pushed"])
  })
})
