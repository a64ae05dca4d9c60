import assert from "node:assert/strict"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, describe, it } from "node:test"
import type { RunAnswer, RunsAnswer } from "../../../src/api/runs.ts"
import { within } from "../../support/within.ts"
import { folderOf } from "../../support/workflow-folder.ts"
import { errorOf, startService } from "./start-service.ts"

const directory = mkdtempSync(join(tmpdir(), "wireworks-private-retention-"))
after(() => rmSync(directory, { recursive: true }))

const workflow = (mark: string): string => `input {
    mail: ${mark}string
    contract: maybe file = null
}

score long {
    value: length(output.copy) > 3
}

output {
    copy: input.mail
}
`

for (const store of ["memory", "sqlite"]) {
  describe(`WIRE_PRIVATE_RETENTION, store ${store}`, () => {
    it("deletes what runs with private values were given and made; their records stay", async () => {
      const folder = folderOf({ "mail.wire": workflow("private "), "plain.wire": workflow("") })
      const service = await startService({
        WORKFLOWS: folder,
        STORE: store,
        DATA_DIR: mkdtempSync(join(directory, store)),
        PRIVATE_RETENTION: "1s",
      })
      const execute = async (name: string): Promise<string> => {
        const contract = `data:text/plain;base64,${Buffer.from(name).toString("base64")}`
        const response = await service.post(`/workflows/${name}/execute`, { input: { mail: "from Ada", contract } })
        assert.equal(response.status, 200)
        await response.text()
        return response.headers.get("x-service-run-id") ?? ""
      }
      const [run_id, plain] = [await execute("mail"), await execute("plain")]
      const record = async (id: string): Promise<RunAnswer> =>
        (await (await service.get(`/execute/${id}`)).json()) as RunAnswer
      const before = await record(run_id)
      assert.deepEqual(before.output, { copy: "from Ada" })
      const files = async (): Promise<number> =>
        ((await (await service.get("/files")).json()) as { readonly files: readonly object[] }).files.length
      assert.equal(await files(), 2)
      const redacted = async (): Promise<RunAnswer> => {
        for (;;) {
          const now = await record(run_id)
          if (now.redacted_at !== undefined && now.scores.length > 0) return now
          await new Promise((resolve) => setTimeout(resolve, 50))
        }
      }
      const now = await within(30_000, "the end of private values", redacted())
      assert.deepEqual([now.status, now.output, now.error, now.version], ["completed", null, null, before.version])
      assert.deepEqual([now.created_at, now.finished_at], [before.created_at, before.finished_at])
      assert.deepEqual(now.usage, before.usage)
      assert.deepEqual(
        now.scores.map(({ name, value }) => [name, value]),
        [["long", true]],
      )
      for (const path of ["/events", "/request", "/files", "/questions", "/origins?path=output.copy"]) {
        const { status, kind } = await errorOf(await service.get(`/execute/${run_id}${path}`))
        assert.deepEqual([path, status, kind], [path, 410, "run_expired"])
      }
      assert.equal((await errorOf(await service.post(`/execute/${run_id}/rerun`, {}))).status, 410)
      assert.equal(await files(), 1)
      const { runs } = (await (await service.get("/runs?include=preview")).json()) as RunsAnswer
      assert.equal(runs.length, 2)
      assert.ok(!JSON.stringify(runs.find((run) => run.run_id === run_id)).includes("Ada"))
      assert.deepEqual((await record(plain)).output, { copy: "from Ada" })
      assert.equal((await fetch(`${service.url}/execute/${run_id}`, { method: "DELETE" })).status, 204)
      assert.equal((await errorOf(await service.get(`/execute/${run_id}`))).status, 410)
    })
  })
}

it("does not start with WIRE_PRIVATE_RETENTION longer than WIRE_RETENTION", async () => {
  await assert.rejects(
    startService({ PRIVATE_RETENTION: "2d", RETENTION: "1d" }),
    /WIRE_PRIVATE_RETENTION is longer than WIRE_RETENTION/,
  )
})
