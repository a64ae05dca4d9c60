import assert from "node:assert/strict"
import { execFile, spawnSync } from "node:child_process"
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { after, test } from "node:test"
import { promisify } from "node:util"
import { build } from "../scripts/build.mjs"
import { hello, startService } from "./contract/http/start-service.ts"

const root = dirname(import.meta.dirname)
const page = readFileSync(join(root, "docs", "client.md"), "utf8")

/** A project of somebody else's, with the package installed as npm would lay it. */
async function projectWithPackage(): Promise<string> {
  mkdirSync(join(root, ".cache"), { recursive: true })
  const folder = mkdtempSync(join(root, ".cache", "client-"))
  after(() => rmSync(folder, { recursive: true }))
  const installed = join(folder, "node_modules", "wireworks")
  mkdirSync(installed, { recursive: true })
  cpSync(join(root, "package.json"), join(installed, "package.json"))
  await build(join(installed, "dist"))
  for (const name of ["eventsource-parser", "@types"]) {
    symlinkSync(join(root, "node_modules", name), join(folder, "node_modules", name))
  }
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }))
  const compilerOptions = { module: "nodenext", target: "es2024", strict: true, noEmit: true, types: ["node"] }
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts"] }))
  return folder
}

test("every snippet of docs/client.md has the package's types, and runs", { timeout: 170_000 }, async () => {
  const service = await startService()
  const folder = await projectWithPackage()
  const snippets = [...page.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map((found) => found[1] ?? "")
  assert.ok(snippets.length >= 4)
  for (const [index, snippet] of snippets.entries()) {
    const own = snippet.replaceAll("http://127.0.0.1:13703", service.url)
    writeFileSync(join(folder, `snippet-${index}.ts`), own)
  }
  cpSync(join(root, "examples", "hello.wire"), join(folder, "hello.wire"))
  const types = spawnSync(join(root, "node_modules", ".bin", "tsc"), ["-p", folder], { encoding: "utf8" })
  assert.equal(types.stdout, "")
  // Not `spawnSync`: the service answers in this process.
  for (const index of snippets.keys()) {
    const { stdout } = await promisify(execFile)(process.execPath, [`snippet-${index}.ts`], {
      cwd: folder,
      timeout: 30_000,
    })
    assert.doesNotMatch(stdout, /undefined/, `snippet ${index}`)
  }
})

const callTyped = `import { createClient } from "wireworks/client"
import type { Workflows } from "./wire.d.ts"

const client = createClient<Workflows>({ baseUrl: "BASE", apiKey: "a-key" })
const { run_id, output } = await client.workflow("greetings/hello").execute({ name: "Ada" })
const message: string = output.message
if (message !== "Hello, Ada.") throw new Error(message)
// @ts-expect-error: the input has no such field
client.workflow("greetings/hello").execute({ nam: "Ada" }).catch(() => undefined)
// @ts-expect-error: there is no such workflow
client.workflow("nothing")
const { runs } = await client.runs({ workflow: "greetings/hello", limit: 5 })
if (runs.every((run) => run.run_id !== run_id)) throw new Error("The run is not in the list")
const untyped = await createClient({ baseUrl: "BASE", apiKey: "a-key" }).workflow("greetings/hello").execute({ name: "Bob" })
if (untyped.output["message"] !== "Hello, Bob.") throw new Error("untyped")
`

test("types that `wire types` wrote make calls of a running service typed", { timeout: 170_000 }, async () => {
  const folder = await projectWithPackage()
  mkdirSync(join(folder, "flows", "greetings"), { recursive: true })
  writeFileSync(join(folder, "flows", "greetings", "hello.wire"), hello)
  const service = await startService({ WORKFLOWS: join(folder, "flows"), API_KEYS: "ann:a-key" })
  const wire = join(folder, "node_modules", "wireworks", "dist", "wire.js")
  const written = spawnSync(process.execPath, [wire, "types", "flows", "--out", "wire.d.ts"], {
    cwd: folder,
    encoding: "utf8",
  })
  assert.equal(written.status, 0, written.stderr)
  writeFileSync(join(folder, "call.ts"), callTyped.replaceAll("BASE", service.url))
  const types = spawnSync(join(root, "node_modules", ".bin", "tsc"), ["-p", folder, "--allowImportingTsExtensions"], {
    encoding: "utf8",
  })
  assert.equal(types.stdout, "")
  await promisify(execFile)(process.execPath, ["call.ts"], { cwd: folder, timeout: 30_000 })
})
