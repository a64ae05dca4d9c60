import assert from "node:assert/strict"
import { test } from "node:test"
import type { ServerLog } from "../../../src/server/route-dependencies.ts"
import { startServer } from "../../support/http-server.ts"
import { folderOf } from "../../support/workflow-folder.ts"
import { within } from "../../support/within.ts"
import { startService } from "./start-service.ts"

interface Line {
  readonly level: string
  readonly about: Readonly<Record<string, unknown>>
  readonly message: string
}

/** A log whose lines can be waited for. */
function watchedLog(): {
  readonly log: ServerLog
  readonly lines: Line[]
  readonly until: (message: string) => Promise<Line>
} {
  const lines: Line[] = []
  const waiting = new Map<string, (line: Line) => void>()
  const write = (level: string) => (about: Line["about"], message: string) => {
    const line = { level, about, message }
    lines.push(line)
    waiting.get(message)?.(line)
  }
  return {
    log: { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") },
    lines,
    until(message) {
      const found = lines.find((line) => line.message === message)
      if (found !== undefined) return Promise.resolve(found)
      return within(60_000, message, new Promise((resolve) => waiting.set(message, resolve)))
    },
  }
}

test("start, stop, short keys, unknown names of groups, and refused keys", async () => {
  const { log, lines } = watchedLog()
  const settings = {
    API_KEYS: "ann:0123456789abcdef,bob:short",
    OPERATOR_KEYS: "ops:brief",
    METRICS_KEY: "tiny",
    GROUPS: "editors:ann+bbo,finance:carol",
  }
  const service = await startService(settings, { log })
  const of = (message: RegExp): Line[] => lines.filter((line) => message.test(line.message))
  assert.deepEqual(
    of(/fewer than 16 characters/).map(({ level, about }) => [level, about["setting"], about["name"]]),
    [
      ["warn", "WIRE_API_KEYS", "bob"],
      ["warn", "WIRE_OPERATOR_KEYS", "ops"],
      ["warn", "WIRE_METRICS_KEY", "metrics"],
    ],
  )
  assert.deepEqual(
    of(/^WIRE_GROUPS has a name/).map(({ about }) => [about["group"], about["name"]]),
    [
      ["editors", "bbo"],
      ["finance", "carol"],
    ],
  )
  assert.equal(of(/^service started$/)[0]?.about["address"], service.url)
  for (let n = 0; n < 20; n++) await service.get(`/runs?n=${n}`, { authorization: `Bearer guess-${n}` })
  // No key at all is no guess.
  await service.get("/runs")
  assert.deepEqual(
    of(/^key refused$/).map(({ level, about }) => [level, about["path"], about["times"]]),
    [["warn", "/runs", 1]],
  )
  await service.stop()
  assert.deepEqual(
    of(/^key refused$/).map(({ about }) => about["times"]),
    [1, 19],
  )
  assert.equal(of(/^service stops$/)[0]?.about["reason"], "the test has ended")
  assert.equal(lines.at(-1)?.message, "service stopped")
  assert.doesNotMatch(JSON.stringify(lines), /guess-|short"|brief|tiny/)
})

test("who answered and who cancelled", async () => {
  const { log, until } = watchedLog()
  const service = await startService(
    { API_KEYS: "ann:0123456789abcdef", OPERATOR_KEYS: "ops:fedcba9876543210" },
    { log },
  )
  const ann = { authorization: "Bearer 0123456789abcdef" }
  const source =
    'ask a {\n question: "Q?"\n output { ok: boolean }\n}\nask b {\n question: "R?"\n output { ok: boolean }\n}\noutput { a: ask.a.ok b: ask.b.ok }'
  const started = await service.post("/execute", { workflow_source: source }, ann)
  const { run_id, questions } = (await started.json()) as { run_id: string; questions: { id: string }[] }
  const question = questions[0]?.id ?? ""
  await service.post(`/execute/${run_id}/questions/${question}`, { answer: { ok: true }, by: "Ann" }, ann)
  assert.deepEqual((await until("question answered")).about, { run_id, question, caller: "ann", by: "Ann" })
  await service.post(`/execute/${run_id}/cancel`, {}, { authorization: "Bearer fedcba9876543210" })
  assert.deepEqual((await until("cancel requested")).about, { run_id, caller: "ops" })
  assert.deepEqual((await until("run waits")).about, { run_id, caller: "ann", questions: 2 })
  await service.get(`/execute/${run_id}?wait=30`, ann)
  await fetch(`${service.url}/execute/${run_id}`, { method: "DELETE", headers: ann })
  assert.deepEqual((await until("run deleted")).about, { run_id, caller: "ann" })
})

test("deliveries that are refused, and triggers that a caller steers", async () => {
  const { log, lines, until } = watchedLog()
  const source =
    "input { text: string }\nsecrets { hook: string }\nwebhook in { verify: github secret: secrets.hook input { text: body.text } }\n" +
    'schedule nightly { cron: "0 3 * * *" input { text: due.at } }\noutput { text: input.text }'
  const service = await startService(
    {
      WORKFLOWS: folderOf({ "git/push.wire": source }),
      SECRET_HOOK: "0123456789abcdef0123",
      API_KEYS: "ann:0123456789abcdef",
      TRIGGER_CALLER: "ann",
    },
    { log },
  )
  for (let n = 0; n < 20; n++) {
    const wrong = await service.post("/hooks/git/push/in", "{}", { "x-hub-signature-256": `sha256=${"0".repeat(64)}` })
    assert.equal(wrong.status, 401)
  }
  const refused = (): unknown[] =>
    lines.filter(({ message }) => message === "delivery refused").map(({ about }) => about)
  const about = { workflow: "git/push", webhook: "in", reason: "The signature is wrong" }
  assert.deepEqual(refused(), [{ ...about, times: 1 }])
  const ann = { authorization: "Bearer 0123456789abcdef" }
  const trigger = { workflow: "git/push", trigger: "nightly", caller: "ann" }
  for (const [act, message] of [
    ["run", "schedule started by hand"],
    ["pause", "trigger paused"],
    ["resume", "trigger resumed"],
  ] as const) {
    await service.post(`/triggers/git/push/nightly/${act}`, "", ann)
    const { run_id, ...rest } = (await until(message)).about
    assert.deepEqual([rest, typeof run_id], [trigger, act === "run" ? "string" : "undefined"])
  }
  await service.post("/triggers/git/push/in/pause", "", ann)
  const steered = lines.filter(
    ({ message, about: { act } }) => message === "audit" && /paused|resumed/.test(String(act)),
  )
  const audited = { caller: "ann", workflow: "git/push" }
  assert.partialDeepStrictEqual(
    steered.map((line) => line.about),
    [
      { act: "paused", ...audited, trigger: "nightly" },
      { act: "resumed", ...audited, trigger: "nightly" },
      { act: "paused", ...audited, trigger: "in" },
    ],
  )
  await service.stop()
  assert.deepEqual(refused().at(-1), { ...about, times: 19 })
})

test("notifications that fail, and those that are given up", async () => {
  let status = 503
  const { origin } = await startServer((_request, response) => response.writeHead(status).end())
  const { log, until } = watchedLog()
  const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`
  const service = await startService({ NOTIFY_ORIGINS: origin, NOTIFY_SECRET: secret }, { log })
  const run = (): Promise<Response> =>
    service.post("/execute", {
      workflow_source: "output { x: 1 }",
      options: { notify: { url: `${origin}/hook?token=hidden` } },
    })
  const first = await run()
  const failed = await until("notification failed")
  assert.deepEqual(
    [failed.level, failed.about],
    [
      "info",
      {
        run_id: first.headers.get("x-service-run-id"),
        event: "completed",
        receiver: origin,
        attempts: 1,
        error: "The receiver answered 503",
      },
    ],
  )
  status = 410
  await run()
  const given = await until("notification given up")
  assert.deepEqual([given.level, given.about["error"]], ["warn", "The receiver answered 410"])
})
