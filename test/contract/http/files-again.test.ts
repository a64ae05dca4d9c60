import assert from "node:assert/strict"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, describe, it } from "node:test"
import { startService } from "./start-service.ts"

const folder = mkdtempSync(join(tmpdir(), "wireworks-files-again-"))
after(() => rmSync(folder, { recursive: true }))

interface FileValue {
  readonly file_id: string
  readonly sha256: string
}

const paints = `
input {
    idea: file
}

provider demo from openai {
    endpoint: "demo"
}

model painter from demo {
    id: "demo"
    outputs: ["image"]
    assets: ["document", "image"]
}

agent draw {
    model: model.painter
    instruction: "Draw {{ asset input.idea }}"

    output {
        picture: file
    }
}

output {
    picture: agent.draw.picture
}
`

for (const [name, variables] of [
  ["memory", { STORE: "memory" }],
  ["sqlite", { STORE: "sqlite", DATA_DIR: folder }],
] as const) {
  describe(`files that a step gave before (${name})`, async () => {
    const service = await startService({ ...variables, DEMO: "on" })

    const send = async (text: string, called: string): Promise<string> => {
      const headers = { "content-type": "text/plain", "content-disposition": `attachment; filename="${called}"` }
      const answer = await fetch(`${service.url}/files`, { method: "POST", body: text, headers })
      return ((await answer.json()) as FileValue).file_id
    }
    const done = async (answer: Response): Promise<{ readonly run_id: string; readonly picture: FileValue }> => {
      assert.equal(answer.status, 200, await answer.clone().text())
      const { picture } = (await answer.json()) as { picture: FileValue }
      return { run_id: answer.headers.get("x-service-run-id") ?? "", picture }
    }
    const filesOf = async (run_id: string): Promise<readonly object[]> => {
      const { files } = (await (await service.get(`/execute/${run_id}/files`)).json()) as {
        files: { file_id: string; origin: string; step?: string }[]
      }
      return files.map(({ file_id, origin, step }) => ({ file_id, origin, ...(step !== undefined && { step }) }))
    }
    const remove = (path: string): Promise<Response> => fetch(`${service.url}${path}`, { method: "DELETE" })
    const reused = async (run_id: string): Promise<boolean> => {
      const events = await (await service.get(`/execute/${run_id}/events`)).text()
      return events.includes("step_reused") || events.includes('"cached":true')
    }

    it("a re-run refers to the file that it takes over, which stays when the first run is deleted", async () => {
      const idea = await send("A house", "idea.txt")
      const first = await done(
        await service.post("/execute", { workflow_source: paints, input: { idea: { file_id: idea } } }),
      )
      const again = await done(await service.post(`/execute/${first.run_id}/rerun`, {}))
      assert.ok(await reused(again.run_id))
      assert.deepEqual(again.picture, first.picture)
      const made = { file_id: first.picture.file_id, origin: "made", step: "agent.draw" }
      assert.deepEqual(await filesOf(again.run_id), [{ file_id: idea, origin: "input" }, made])
      const meta = await (await service.get(`/files/${made.file_id}/meta`)).json()
      assert.deepEqual((meta as { runs: string[] }).runs, [first.run_id, again.run_id].sort())
    })

    it("a step whose file was deleted runs again, in a re-run and from the cache", async () => {
      const idea = await send("A tree", "tree.txt")
      const options = { cache_key: "trees", use_cache: true }
      const body = { workflow_source: paints, input: { idea: { file_id: idea } }, options }
      const first = await done(await service.post("/execute", body))
      // The same contents under another id ask the same.
      await remove(`/files/${idea}`)
      const same = await send("A tree", "tree.txt")
      assert.notEqual(same, idea)
      const input = { idea: { file_id: same } }
      const cached = await done(await service.post("/execute", { ...body, input }))
      assert.ok(await reused(cached.run_id))
      assert.equal(cached.picture.file_id, first.picture.file_id)
      assert.deepEqual((await filesOf(cached.run_id)).at(-1), {
        file_id: first.picture.file_id,
        origin: "made",
        step: "agent.draw",
      })
      assert.equal((await remove(`/files/${first.picture.file_id}`)).status, 204)
      for (const path of ["/execute", `/execute/${first.run_id}/rerun`]) {
        const fresh = await done(await service.post(path, path === "/execute" ? { ...body, input } : { input }))
        assert.equal(await reused(fresh.run_id), false, path)
        assert.notEqual(fresh.picture.file_id, first.picture.file_id)
        assert.equal((await service.get(`/files/${fresh.picture.file_id}`)).status, 200)
        await remove(`/files/${fresh.picture.file_id}`)
      }
    })

    it("a re-run takes a given file that is the caller's, and no other", async () => {
      const idea = await send("A boat", "boat.txt")
      const first = await done(
        await service.post("/execute", { workflow_source: paints, input: { idea: { file_id: idea } } }),
      )
      const given = (picture: unknown): Promise<Response> =>
        service.post(`/execute/${first.run_id}/rerun`, { given: { "agent.draw": { picture } } })
      const boat = await done(await given({ file_id: idea }))
      assert.equal(boat.picture.file_id, idea)
      assert.match(boat.picture.sha256, /^[0-9a-f]{64}$/)
      for (const one of [
        { file_id: "file_0" },
        { ...first.picture, file_id: "file_0" },
        { url: "http://127.0.0.1/" },
      ]) {
        const refused = await given(one)
        assert.equal(refused.status, 422, JSON.stringify(one))
      }
    })

    it("the input of a re-run is the file of the earlier run, which must still be there", async () => {
      const idea = await send("A star", "star.txt")
      const { run_id } = await done(
        await service.post("/execute", { workflow_source: paints, input: { idea: { file_id: idea } } }),
      )
      assert.equal((await remove(`/files/${idea}`)).status, 204)
      const refused = await service.post(`/execute/${run_id}/rerun`, {})
      assert.equal(refused.status, 422)
      const { error } = (await refused.json()) as { error: { kind: string; issues: { path: string }[] } }
      assert.deepEqual([error.kind, error.issues[0]?.path], ["input_error", "input.idea"])
    })
  })
}
