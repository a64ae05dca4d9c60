import assert from "node:assert/strict"
import type { NewVersion } from "../../../src/ports/version-store.ts"
import { aRequest, created, ended, type OnBench } from "./material.ts"

const hour = 3_600_000

function aVersion(version: string, changes: Partial<NewVersion> = {}): NewVersion {
  const text = { file: "flow.wire", source: `// ${version}`, modules: { "shared.wire": "// shared by all" } }
  return { workflow: "flow", version, digest: `digest of ${version}`, text, ...changes }
}

/** Versions of workflows, what replicas serve, and pins. */
export function versioning(onBench: OnBench): void {
  onBench("a version is kept with its files, once", async ({ store, other, clock }) => {
    const first = aVersion("a")
    const at = clock.now()
    assert.equal(await store.versions.keep(first), "kept")
    clock.advance(hour)
    assert.equal(await other.versions.keep(aVersion("b")), "kept")
    assert.equal(await store.versions.keep(first), "kept")
    assert.deepEqual(await other.versions.text("flow", "a"), first.text)
    assert.equal(await other.versions.text("flow", "c"), null)
    assert.equal(await other.versions.text("other", "a"), null)
    const times = { first_served_at: at, last_served_at: at + hour, withdrawn_at: null }
    assert.deepEqual(await other.versions.find("flow", "a"), { version: "a", ...times })
    const listed = await other.versions.list("flow", 10, null)
    assert.deepEqual(
      listed.map(({ version }) => version),
      ["b", "a"],
    )
    const [newest] = await store.versions.list("flow", 1, null)
    assert.ok(newest !== undefined)
    const rest = await store.versions.list("flow", 10, newest)
    assert.deepEqual(
      rest.map(({ version }) => version),
      ["a"],
    )
    assert.deepEqual(await store.versions.list("other", 10, null), [])
  })

  onBench("another text with the same digits is refused, and the first one stays", async ({ store, other }) => {
    await store.versions.keep(aVersion("a"))
    const source = "// something else"
    const clash = aVersion("a", { digest: "another", text: { file: "flow.wire", source, modules: {} } })
    assert.equal(await other.versions.keep(clash), "clash")
    assert.equal((await store.versions.text("flow", "a"))?.source, "// a")
    // Of another workflow it is another version.
    assert.equal(await store.versions.keep({ ...clash, workflow: "other" }), "kept")
  })

  onBench("runs are counted by version, for a caller and for all", async ({ store, other }) => {
    const of = (name: string, version: string) => ({ request: aRequest({ workflow: { name, version } }) })
    const one = await created(store, { run_id: "one-5", caller: "ann", ...of("flow", "a") })
    await created(store, { run_id: "two-5", caller: "bob", ...of("flow", "a") })
    await created(store, { run_id: "six-5", caller: "bob", ...of("flow", "b") })
    await created(store, { run_id: "ten-5", caller: "bob", ...of("other", "b") })
    await store.append(one, [ended(1)])
    const all = await other.versions.runs("flow", null)
    assert.deepEqual(Object.fromEntries(all), {
      a: { open: 1, waiting: 0, ended: 1 },
      b: { open: 1, waiting: 0, ended: 0 },
    })
    assert.deepEqual(Object.fromEntries(await other.versions.runs("flow", "ann")), {
      a: { open: 0, waiting: 0, ended: 1 },
    })
  })

  onBench("a withdrawn version keeps the time of the first withdrawal", async ({ store, other, clock }) => {
    await store.versions.keep(aVersion("a"))
    assert.equal(await store.versions.withdraw("flow", "b"), false)
    const at = clock.now()
    assert.equal(await store.versions.withdraw("flow", "a"), true)
    clock.advance(hour)
    assert.equal(await other.versions.withdraw("flow", "a"), true)
    assert.equal((await other.versions.find("flow", "a"))?.withdrawn_at, at)
  })

  onBench("a pin holds the versions of the files of all replicas that run", async ({ store, other, clock }) => {
    for (const version of ["a", "b", "c"]) await store.versions.keep(aVersion(version))
    const until = clock.now() + hour
    await store.versions.serve({ replica: "gone", files: { flow: "z" }, served: { flow: "z" }, until: clock.now() - 1 })
    await store.versions.serve({ replica: "one", files: { flow: "b" }, served: { flow: "b" }, until })
    await other.versions.serve({ replica: "two", files: { flow: "c", x: "q" }, served: { flow: "c", x: "q" }, until })
    const pin = await store.versions.pin("flow", "a")
    assert.deepEqual([pin?.version, pin?.files.toSorted()], ["a", ["b", "c"]])
    assert.deepEqual(await other.versions.pins(), [pin])
    // Another pin takes its place.
    await other.versions.pin("flow", "b")
    assert.deepEqual(
      (await store.versions.pins()).map(({ version }) => version),
      ["b"],
    )
    assert.equal(await store.versions.pin("flow", null), null)
    assert.deepEqual(await other.versions.pins(), [])
  })

  onBench("versions go when they are old, and are not served, pinned or run", async ({ store, other, clock }) => {
    for (const version of ["served", "pinned", "run", "free", "shared"]) await store.versions.keep(aVersion(version))
    clock.advance(2 * hour)
    await store.versions.keep(aVersion("young"))
    const until = clock.now() + hour
    await store.versions.serve({ replica: "one", files: {}, served: { flow: "served" }, until })
    await store.versions.pin("flow", "pinned")
    await created(store, { run_id: "one-6", request: aRequest({ workflow: { name: "flow", version: "run" } }) })
    assert.equal(await other.versions.sweep(clock.now() - hour), 2)
    const left = await store.versions.list("flow", 10, null)
    assert.deepEqual(left.map(({ version }) => version).toSorted(), ["pinned", "run", "served", "young"])
    assert.equal(await store.versions.text("flow", "free"), null)
    // The file that they shared is still there for the others.
    assert.equal((await store.versions.text("flow", "run"))?.modules["shared.wire"], "// shared by all")
    assert.equal(await other.versions.sweep(clock.now() - hour), 0)
  })
}
