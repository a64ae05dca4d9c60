import assert from "node:assert/strict"
import { chownSync, mkdirSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { startService } from "../cli/run-wire.ts"
import { smallDisk } from "../support/full-disk.ts"
import { account, startPostgres } from "../support/postgres-server.ts"
import { within } from "../support/within.ts"
import { builtWire } from "../support/built-wire.ts"

test("a write-ahead log of PostgreSQL without room stops the server: runs are refused, and all go on when it is started again", async (t) => {
  const disk = smallDisk(16)
  if (disk === null) return t.skip("this user may not mount a file system")
  const logFolder = join(disk.folder, "log")
  mkdirSync(logFolder)
  const { uid, gid } = account()
  if (uid !== undefined && gid !== undefined) for (const path of [disk.folder, logFolder]) chownSync(path, uid, gid)
  const config = ["fsync=off", "min_wal_size=2MB", "max_wal_size=4MB"]
  const server = await startPostgres({ config, logFolder })
  t.after(() => server.close())
  const service = await startService(process.execPath, [builtWire, "serve"], {
    WIRE_PORT: "0",
    WIRE_RATE_LIMIT: "0",
    WIRE_STORE: server.url(),
    WIRE_ENCRYPTION_KEY: "5".repeat(64),
  })
  const post = (source: string): Promise<Response> =>
    fetch(`${service.address}/execute`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ workflow_source: source }),
    })
  const ready = async (): Promise<number> => (await fetch(`${service.address}/readyz`)).status
  const asked = await post('ask a { question: "Go on?"  output { go: boolean } }\noutput { go: ask.a.go }')
  assert.equal(asked.status, 202)
  const { run_id, questions } = (await asked.json()) as { run_id: string; questions: { id: string; digest: string }[] }

  disk.fill(0)
  // Each run takes some of the log, until there is no segment left. One that has begun by then waits for the store.
  const long = "x".repeat(100_000)
  const sent: Promise<number>[] = []
  await until(async () => {
    const answer = post(`output { m: "${long}" }`).then(({ status }) => status)
    sent.push(answer)
    await Promise.race([answer, new Promise((resolve) => setTimeout(resolve, 1_000))])
    return /PANIC: .*No space left on device/.test(server.output)
  })
  await until(async () => (await ready()) === 503)
  const refused = await post('output { m: "while it is gone" }')
  assert.equal(refused.status, 503)
  const { error } = (await refused.json()) as { error: { kind: string; message: string } }
  assert.equal(error.kind, "overloaded")
  assert.match(error.message, /store/)

  disk.free(0)
  // Killed at once, it would leave children that wait for a lock, and with them no server starts.
  await server.kill("SIGQUIT")
  await server.start()
  await until(async () => (await ready()) === 200)
  const [question] = questions
  const answered = await fetch(`${service.address}/execute/${run_id}/questions/${question?.id}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ digest: question?.digest, answer: { go: true } }),
  })
  assert.equal(answered.status, 200)
  const record = await fetch(`${service.address}/execute/${run_id}?wait=30`)
  assert.deepEqual(((await record.json()) as { output: unknown }).output, { go: true })
  assert.equal((await post('output { m: "after" }')).status, 200)
  const answers = await within(60_000, "the answers of all", Promise.all(sent))
  const stored = answers.filter((status) => status === 200).length
  assert.equal(answers.filter((status) => status === 503).length, answers.length - stored, answers.join())
  const [row] = await server.query("SELECT count(*)::int AS ended FROM wire.runs WHERE outcome = 'completed'")
  const ended = Number(row?.["ended"])
  // One that was refused may be stored all the same: the server stopped before it could say so.
  assert.ok(ended >= stored + 2 && ended <= answers.length + 2, `${ended} ended, ${answers.join()}`)
  service.child.kill("SIGTERM")
  assert.deepEqual(await within(60_000, "the end", service.ended), { code: 0, signal: null })
})

async function until(holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 120_000
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error("It did not come to that")
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
