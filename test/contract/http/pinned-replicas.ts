import assert from "node:assert/strict"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { within } from "../../support/within.ts"
import { folderOf } from "../../support/workflow-folder.ts"
import { hello, startService, type TestService } from "./start-service.ts"

// A bad file is taken back on replicas that share a store and have a folder each.

/** A version of `hello` that is bad, and one that mends it. */
export const second = hello.replace("Greet", "Welcome")
export const third = `// third\n${hello}`
assert.notEqual(second, hello)

export async function served(
  service: TestService,
  name: string,
): Promise<{ readonly version: string; readonly pinned?: true }> {
  return (await (await service.get(`/workflows/${name}`)).json()) as {
    readonly version: string
    readonly pinned?: true
  }
}

/** The version that serves once it is another one. */
export function changed(service: TestService, name: string, from: string): Promise<string> {
  const look = async (): Promise<string> => {
    for (;;) {
      const { version } = await served(service, name)
      if (version !== from) return version
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  return within(60_000, `another version of ${name} than ${from}`, look())
}

/** What a run of `greet` by its name is of: what serves is what runs. */
async function versionRun(service: TestService): Promise<string | undefined> {
  const response = await service.post("/workflows/greet/execute", { input: { name: "Ada" } })
  assert.equal(response.status, 200)
  await response.text()
  const run_id = response.headers.get("x-service-run-id") ?? ""
  const record = (await (await service.get(`/execute/${run_id}`)).json()) as { readonly version?: string }
  return record.version
}

export async function pinTakesBackOnReplicas(store: Readonly<Record<string, string>>): Promise<void> {
  const [here, there] = [folderOf({ "greet.wire": hello }), folderOf({ "greet.wire": hello })]
  const one = await startService({ WORKFLOWS: here, ...store })
  const two = await startService({ WORKFLOWS: there, ...store })
  const { version: good } = await served(one, "greet")
  for (const folder of [here, there]) writeFileSync(join(folder, "greet.wire"), second)
  const bad = await changed(one, "greet", good)
  assert.equal(await changed(two, "greet", good), bad)
  assert.equal(await versionRun(two), bad)
  await one.post("/workflows/greet/serve", { version: good })
  assert.equal(await changed(two, "greet", bad), good)
  assert.equal((await served(two, "greet")).pinned, true)
  assert.deepEqual([await versionRun(one), await versionRun(two)], [good, good])
  writeFileSync(join(there, "greet.wire"), third)
  const fixed = await changed(two, "greet", good)
  assert.ok(![good, bad].includes(fixed))
  assert.equal((await served(two, "greet")).pinned, undefined)
  assert.equal((await served(one, "greet")).version, good)
  const late = await startService({ WORKFLOWS: here, ...store })
  assert.equal((await served(late, "greet")).version, good)
  await late.post("/workflows/greet/serve", { version: null })
  assert.equal(await changed(one, "greet", good), bad)
  assert.equal(await versionRun(one), bad)
  await Promise.all([one, two, late].map((service) => service.stop()))
}
