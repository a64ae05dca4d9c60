import assert from "node:assert/strict"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, it } from "node:test"
import { folderOf } from "../../support/workflow-folder.ts"
import { changed, pinTakesBackOnReplicas, second, served, third } from "./pinned-replicas.ts"
import { errorOf, hello, startService } from "./start-service.ts"

interface Version {
  readonly version: string
  readonly serving: string | null
  readonly withdrawn?: true
  readonly first_served_at: string
  readonly last_served_at: string
  readonly runs: { readonly open: number; readonly waiting: number; readonly ended: number }
}

type Service = Awaited<ReturnType<typeof startService>>

async function versionsOf(service: Service, name: string): Promise<readonly Version[]> {
  const response = await service.get(`/workflows/${name}/versions`)
  const body = (await response.json()) as { readonly versions: readonly Version[] }
  assert.equal(response.status, 200, JSON.stringify(body))
  return body.versions
}

describe("versions of workflows", async () => {
  const folder = folderOf({ "greet.wire": hello, "odd/versions.wire": hello, "odd.wire": hello })
  const service = await startService({ WORKFLOWS: folder })
  const write = (name: string, text: string): void => writeFileSync(join(folder, `${name}.wire`), text)
  let old = ""
  let current = ""

  it("are kept, listed newest first, with their runs", async () => {
    old = (await served(service, "greet")).version
    assert.equal((await service.post("/workflows/greet/execute", { input: { name: "Ada" } })).status, 200)
    write("greet", second)
    current = await changed(service, "greet", old)
    const versions = await versionsOf(service, "greet")
    assert.deepEqual(
      versions.map(({ version, serving, runs }) => [version, serving, runs]),
      [
        [current, "current", { open: 0, waiting: 0, ended: 0 }],
        [old, null, { open: 0, waiting: 0, ended: 1 }],
      ],
    )
    const page = await service.get("/workflows/greet/versions?limit=1")
    const { versions: first, next } = (await page.json()) as { versions: Version[]; next: string }
    assert.deepEqual([first.length, first[0]?.version], [1, current])
    const rest = (await (await service.get(`/workflows/greet/versions?after=${next}`)).json()) as {
      versions: Version[]
      next: null
    }
    assert.deepEqual([rest.versions.map(({ version }) => version), rest.next], [[old], null])
    assert.equal((await errorOf(await service.get("/workflows/greet/versions?after=x"))).status, 400)
    assert.equal((await errorOf(await service.get("/workflows/greet/versions?other=x"))).status, 400)
    assert.equal((await errorOf(await service.get("/workflows/no/versions"))).status, 404)
  })

  it("show their files and their difference", async () => {
    const one = (await (await service.get(`/workflows/greet/versions/${old}`)).json()) as { source: string }
    assert.equal(one.source, hello)
    const diff = (await (await service.get(`/workflows/greet/versions/${old}/diff/${current}`)).json()) as {
      readonly contract: readonly unknown[]
      readonly steps: { readonly changed: readonly object[] }
    }
    assert.deepEqual([diff.contract, diff.steps.changed.length], [[], 1])
    const unknown = await errorOf(await service.get(`/workflows/greet/versions/${old}/diff/ffffffffffff`))
    assert.deepEqual([unknown.status, unknown.issues[0]?.path], [404, "version"])
  })

  it("can be asked for by a request, as part of its fingerprint, until they are withdrawn", async () => {
    const execute = (version: string | undefined, key?: string): Promise<Response> =>
      service.post(
        "/workflows/greet/execute",
        { input: { name: "Ada" }, ...(version !== undefined && { version }) },
        key === undefined ? {} : { "idempotency-key": key },
      )
    assert.equal((await execute(old, "k")).status, 200)
    assert.equal((await execute(old, "k")).headers.get("idempotency-replayed"), "true")
    assert.equal((await execute(current, "k")).status, 409)
    assert.equal((await execute(undefined, "k")).status, 409)
    assert.equal((await execute(current)).status, 200)
    const unknown = await errorOf(await execute("ffffffffffff"))
    assert.deepEqual([unknown.status, unknown.issues[0]?.path], [404, "version"])
    const withdrawn = await service.post(`/workflows/greet/versions/${old}/withdraw`, undefined)
    assert.equal(withdrawn.status, 200)
    const refused = await errorOf(await execute(old))
    assert.deepEqual([refused.status, refused.issues[0]?.path], [404, "version"])
    assert.equal((await versionsOf(service, "greet"))[1]?.withdrawn, true)
    assert.equal((await errorOf(await service.post("/workflows/greet/versions/no/withdraw", {}))).status, 404)
  })

  it("are served in place of the file, until that changes or the pin ends", async () => {
    const pinned = await service.post("/workflows/greet/serve", { version: old })
    assert.deepEqual(await pinned.json(), { name: "greet", version: old, pinned: true })
    assert.deepEqual(await served(service, "greet").then(({ version, pinned }) => [version, pinned]), [old, true])
    assert.equal((await versionsOf(service, "greet")).find(({ serving }) => serving === "current")?.version, old)
    const ended = await service.post("/workflows/greet/serve", { version: null })
    assert.deepEqual(await ended.json(), { name: "greet", version: current })
    await service.post("/workflows/greet/serve", { version: old })
    write("greet", third)
    const next = await changed(service, "greet", old)
    assert.ok(![old, current].includes(next))
    assert.equal((await served(service, "greet")).pinned, undefined)
    assert.equal((await errorOf(await service.post("/workflows/greet/serve", { version: "ffffffffffff" }))).status, 404)
    assert.equal((await errorOf(await service.post("/workflows/greet/serve", {}))).status, 400)
    assert.equal((await errorOf(await service.post("/workflows/greet/serve", undefined))).status, 400)
  })

  it("a workflow whose own name ends in /versions wins, and is warned of", async () => {
    const body = (await (await service.get("/workflows/odd/versions")).json()) as {
      readonly name: string
      readonly issues: readonly { readonly code: string }[]
    }
    assert.deepEqual([body.name, body.issues.map(({ code }) => code)], ["odd/versions", ["workflow-route"]])
  })
})

describe("versions of workflows, on replicas", () => {
  it("a pin takes back a bad file on two replicas, which restart with it", () =>
    pinTakesBackOnReplicas({ STORE: "sqlite", DATA_DIR: folderOf({}) }))
})

describe("versions of workflows, for callers", () => {
  it("callers see versions with their own runs; files, withdrawing and serving are for operators", async () => {
    const folder = folderOf({ "greet.wire": hello })
    const service = await startService({
      WORKFLOWS: folder,
      API_KEYS: "ann:0123456789abcdef-ann,bob:0123456789abcdef-bob",
      OPERATOR_KEYS: "op:0123456789abcdef-op",
    })
    const as = (name: string) => ({ authorization: `Bearer 0123456789abcdef-${name}` })
    await service.post("/workflows/greet/execute", { input: { name: "Ada" } }, as("ann"))
    const ended = async (name: string): Promise<number | undefined> => {
      const response = await service.get("/workflows/greet/versions", as(name))
      return ((await response.json()) as { versions: Version[] }).versions[0]?.runs.ended
    }
    assert.deepEqual([await ended("ann"), await ended("bob"), await ended("op")], [1, 0, 1])
    const { version } = (await (await service.get("/workflows/greet", as("ann"))).json()) as { version: string }
    assert.equal((await service.get(`/workflows/greet/versions/${version}`, as("ann"))).status, 403)
    assert.equal((await service.get(`/workflows/greet/versions/${version}`, as("op"))).status, 200)
    for (const path of ["serve", `versions/${version}/withdraw`]) {
      assert.equal((await service.post(`/workflows/greet/${path}`, { version }, as("ann"))).status, 403)
      assert.equal((await service.post(`/workflows/greet/${path}`, { version }, as("op"))).status, 200)
    }
    assert.equal((await service.post("/workflows/greet/execute", { input: { name: "Ada" } }, as("op"))).status, 403)
  })
})
