import assert from "node:assert/strict"
import { mkdtempSync, rmSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, describe, it } from "node:test"
import { startWire } from "../../cli/run-wire.ts"
import { within } from "../../support/within.ts"
import { ada, hello } from "./start-service.ts"

// A statement of the database fails, as it does with a damaged index: the disk has room, and the process goes on.

const folder = mkdtempSync(join(tmpdir(), "wire-statements-"))
after(() => rmSync(folder, { recursive: true, force: true }))

describe("a statement that fails", async () => {
  const service = await startWire(["serve"], { WIRE_PORT: "0", WIRE_DATA_DIR: folder, WIRE_LOG_LEVEL: "silent" })
  const database = new DatabaseSync(join(folder, "wireworks.db"), { timeout: 30_000 })
  after(async () => {
    database.close()
    service.child.kill("SIGTERM")
    await within(60_000, "the end", service.ended)
  })
  const execute = (): Promise<Response> =>
    fetch(`${service.address}/execute`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ workflow_source: hello, input: ada }),
    })
  const failing = async (table: string, work: () => Promise<void>): Promise<void> => {
    const changes = ["INSERT", "UPDATE"] as const
    for (const change of changes) {
      database.exec(
        `CREATE TRIGGER fails_${change} BEFORE ${change} ON ${table} BEGIN SELECT RAISE(ABORT, 'planted'); END`,
      )
    }
    try {
      await work()
    } finally {
      for (const change of changes) database.exec(`DROP TRIGGER fails_${change}`)
    }
  }

  it("at the end of a run: the request is answered, and the run gets its end when the store works again", async () => {
    let run_id = ""
    await failing("stored", async () => {
      const response = await within(60_000, "an answer", execute())
      const { error } = (await response.json()) as { error: { kind: string; message: string } }
      assert.deepEqual([response.status, error.kind], [503, "overloaded"])
      run_id = response.headers.get("x-service-run-id") ?? ""
      assert.match(error.message, new RegExp(`^The store failed while .* GET /execute/${run_id}$`))
    })
    const status = async (): Promise<string> => {
      const response = await fetch(`${service.address}/execute/${run_id}?wait=10`)
      return ((await response.json()) as { status: string }).status
    }
    const ended = async (): Promise<void> => {
      while ((await status()) !== "completed");
    }
    await within(120_000, "the end of the run", ended())
  })

  it("at the start of a run: the request is refused", async () => {
    await failing("runs", async () => {
      const response = await within(60_000, "an answer", execute())
      const { error } = (await response.json()) as { error: { kind: string } }
      assert.deepEqual([response.status, error.kind], [503, "overloaded"])
    })
    const works = async (): Promise<void> => {
      for (let response = await execute(); response.status !== 200; response = await execute()) {
        assert.equal(response.status, 503)
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
    }
    await within(120_000, "a run", works())
  })
})
