import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { after, before, describe, test } from "node:test"
import { folderWith, runWire, startWire } from "../cli/run-wire.ts"
import { startPostgres, type PostgresServer } from "../support/postgres-server.ts"
import { within } from "../support/within.ts"

describe("wire store move", () => {
  let server: PostgresServer
  before(async () => (server = await startPostgres({ config: ["fsync=off"] })))
  after(() => server.close())

  const key = randomBytes(32).toString("hex")

  const withService = async <T>(env: Record<string, string>, work: (address: string) => Promise<T>): Promise<T> => {
    const service = await startWire(["serve"], { WIRE_PORT: "0", WIRE_ENCRYPTION_KEY: key, ...env })
    const result = await work(service.address)
    service.child.kill("SIGTERM")
    await within(60_000, "the end", service.ended)
    return result
  }
  const post = (url: string, body: object, headers: Record<string, string> = {}) =>
    fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    })
  const ask = { workflow_source: 'ask a { question: "Go on?"  output { go: boolean } }\noutput { go: ask.a.go }' }
  const idempotent = { "idempotency-key": "once" }

  test("runs go to PostgreSQL and back: ended ones are read, waiting ones answered, keys remembered", async () => {
    const [first, last] = [folderWith({}), folderWith({})]
    const { ended, waiting, question } = await withService({ WIRE_DATA_DIR: first }, async (address) => {
      const done = await post(`${address}/execute`, { workflow_source: 'output { m: "x" }' }, idempotent)
      const parked = await post(`${address}/execute`, ask)
      assert.deepEqual([done.status, parked.status], [200, 202])
      const { run_id, questions } = (await parked.json()) as {
        run_id: string
        questions: { id: string; digest: string }[]
      }
      assert.ok(questions[0] !== undefined)
      return { ended: done.headers.get("x-service-run-id") ?? "", waiting: run_id, question: questions[0] }
    })
    const postgres = server.url()
    const env = { WIRE_ENCRYPTION_KEY: key }
    const move = (from: string, to: string) => runWire(["store", "move", "--from", from, "--to", to], { env })
    const there = await move(`sqlite:${first}`, postgres)
    assert.equal(there.code, 0, there.err)
    assert.match(there.out, /^Copied and compared \d+ rows\. Start the service with WIRE_STORE/)
    const again = await move(`sqlite:${first}`, postgres)
    assert.equal(again.code, 1)
    assert.match(again.err, /There are tables of this service in the schema "wire" at .* already/)

    const onPostgres = { ...env, WIRE_STORE: postgres }
    await withService(onPostgres, async (address) => {
      const replayed = await post(`${address}/execute`, { workflow_source: 'output { m: "x" }' }, idempotent)
      assert.equal(replayed.headers.get("x-service-run-id"), ended)
      const { id, digest } = question
      const answered = await post(`${address}/execute/${waiting}/questions/${id}`, {
        digest,
        answer: { go: true },
      })
      assert.equal(answered.status, 200, await answered.text())
      const end = await fetch(`${address}/execute/${waiting}?wait=30`)
      assert.equal(((await end.json()) as { status: string }).status, "completed")
      const fresh = await post(`${address}/execute`, { workflow_source: 'output { m: "y" }' })
      assert.equal(fresh.status, 200, await fresh.text())
      const used = await move(postgres, `sqlite:${last}`)
      assert.match(used.err, /is in use: stop the service first/)
    })
    const checked = await runWire(["store", "check", "--json"], { env: onPostgres })
    assert.deepEqual((JSON.parse(checked.out) as { problems: string[] }).problems, [])

    const back = await move(postgres, `sqlite:${last}`)
    assert.equal(back.code, 0, back.err)
    await withService({ WIRE_DATA_DIR: last }, async (address) => {
      for (const run_id of [ended, waiting]) {
        const found = await fetch(`${address}/execute/${run_id}`)
        assert.equal(((await found.json()) as { status: string }).status, "completed")
      }
      assert.equal((await post(`${address}/execute`, { workflow_source: 'output { m: "z" }' })).status, 200)
    })
  })

  test("a wrong place is refused with a sentence", async () => {
    const folder = folderWith({})
    const move = async (from: string, to: string) => (await runWire(["store", "move", "--from", from, "--to", to])).err
    assert.match(await move(`sqlite:${folder}`, server.url()), /There is no database/)
    assert.match(
      await move("nats://a:4222", server.url()),
      /must be like sqlite:FOLDER or postgres:.* Runs cannot be kept in NATS/,
    )
    assert.match(await move("mysql://a", server.url()), /must be like sqlite:FOLDER or postgres:/)
    assert.match(await move("postgres://a@127.0.0.1:1/x", `sqlite:${folder}`), /cannot be reached/)
  })
})
