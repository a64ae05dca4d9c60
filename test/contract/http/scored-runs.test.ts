import assert from "node:assert/strict"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, describe, it } from "node:test"
import type { RunAnswer, RunsAnswer } from "../../../src/api/runs.ts"
import { within } from "../../support/within.ts"
import { errorOf, startService } from "./start-service.ts"

const folder = mkdtempSync(join(tmpdir(), "wireworks-scored-"))
after(() => rmSync(folder, { recursive: true, force: true }))
const file = (length: number) => `input { text: string }
score short {
    value: length(input.text) < ${length}
}
output { text: input.text }
`
writeFileSync(join(folder, "shout.wire"), file(5))
// Half of the runs by name are on either side: which one goes by the text.
writeFileSync(join(folder, "shout.next.wire"), `release { share: 0.5 by: input.text }\n${file(5)}`)

for (const store of ["memory", "sqlite"]) {
  describe(`runs found by their scores and their side of a release, in ${store}`, async () => {
    const data = mkdtempSync(join(tmpdir(), "wireworks-scored-data-"))
    after(() => rmSync(data, { recursive: true, force: true }))
    const service = await startService({ STORE: store, DATA_DIR: data, WORKFLOWS: folder })
    const read = async <Answer>(path: string): Promise<Answer> => {
      const response = await service.get(path)
      assert.equal(response.status, 200, await response.clone().text())
      return (await response.json()) as Answer
    }
    const listOf = async (query: string): Promise<RunsAnswer["runs"]> => (await read<RunsAnswer>(`/runs${query}`)).runs
    const texts = async (query: string): Promise<string[]> =>
      (await listOf(query)).map(({ input_preview }) => input_preview?.replace("text: ", "") ?? "").toSorted()
    const all = Array.from({ length: 12 }, (_, at) => (at % 2 === 0 ? `a${at}` : `a long text ${at}`))

    it("has every run on one side, and each side is a filter of the list and of the counts", async () => {
      for (const text of all) {
        assert.equal((await service.post("/workflows/shout/execute", { input: { text } })).status, 200)
      }
      const [current, candidate] = [await texts("?release=current"), await texts("?release=candidate")]
      assert.deepEqual([...current, ...candidate].toSorted(), all.toSorted())
      assert.ok(current.length > 0 && candidate.length > 0)
      assert.deepEqual(await texts("?release=shadow"), [])
      for (const run of await listOf("?release=candidate")) {
        assert.equal(run.release, "candidate")
        assert.equal((await read<RunAnswer>(`/execute/${run.run_id}`)).release, "candidate")
      }
      const counted = async (query: string): Promise<number> =>
        (await read<{ buckets: { runs: number }[] }>(`/runs/stats${query}`)).buckets.reduce(
          (sum, { runs }) => sum + runs,
          0,
        )
      assert.equal(await counted(""), all.length)
      assert.equal(await counted("?release=current"), current.length)
      assert.equal(await counted("?release=candidate"), candidate.length)
      assert.equal(await counted("?release=shadow"), 0)
    })

    it("finds runs by a score of their file, and shows it", async () => {
      const unscored = async (): Promise<boolean> => (await listOf("")).some(({ scores }) => scores.length === 0)
      const scored = async (): Promise<void> => {
        while (await unscored()) await new Promise((resolve) => setTimeout(resolve, 20))
      }
      await within(30_000, "a score of each run", scored())
      assert.deepEqual(await texts("?score=short:true"), all.filter((text) => text.length < 5).toSorted())
      assert.deepEqual(
        await texts("?score=short:false&release=current"),
        (await texts("?release=current")).filter((text) => text.length >= 5),
      )
      assert.deepEqual(await texts("?score=short:maybe"), [])
      assert.deepEqual(await texts("?score=other:true"), [])
    })

    it("finds runs by what people gave them, and what they gave last", async () => {
      const [run] = await listOf("?score=short:true")
      assert.ok(run !== undefined)
      const give = (value: unknown): Promise<Response> =>
        service.post(`/execute/${run.run_id}/scores`, { name: "verdict", value, comment: "as seen" })
      assert.equal((await give("good")).status, 200)
      assert.deepEqual(
        (await listOf("?score=verdict:good")).map(({ run_id }) => run_id),
        [run.run_id],
      )
      assert.equal((await give("bad")).status, 200)
      assert.deepEqual(await listOf("?score=verdict:good"), [])
      const [found] = await listOf("?score=verdict:bad")
      assert.deepEqual(found?.scores.map(({ name }) => name).toSorted(), ["short", "verdict"])
      const declared = await service.post(`/execute/${run.run_id}/scores`, { name: "short", value: true })
      assert.equal(declared.status, 409)
      for (const wrong of ["", "x".repeat(101), null, {}, ["good"], undefined]) {
        const refused = await errorOf(await give(wrong))
        assert.equal(refused.status, 400)
        const message =
          wrong === undefined
            ? "`value` is missing"
            : "`value` is a boolean, a number, or a text of 1 to 100 characters"
        assert.deepEqual(
          refused.issues.map((issue) => [issue.path, issue.message]),
          [["value", message]],
        )
      }
    })

    it("refuses by name what is no side and no score", async () => {
      for (const [query, path] of [
        ["release=beta", "release"],
        ["score=short", "score"],
        ["score=:true", "score"],
      ] as const) {
        const response = await service.get(`/runs?${query}`)
        assert.equal(response.status, 400)
        assert.equal((await errorOf(response)).issues[0]?.path, path)
      }
    })
  })
}
