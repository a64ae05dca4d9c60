import assert from "node:assert/strict"
import { execFile, spawnSync } from "node:child_process"
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { after, test } from "node:test"
import { promisify } from "node:util"
import { buildClient } from "../scripts/build.mjs"
import { hello, startService } from "./contract/http/start-service.ts"
import { builtWire } from "./support/built-wire.ts"

const root = dirname(import.meta.dirname)
const page = readFileSync(join(root, "docs", "client.md"), "utf8")

/** A user's project, with the package installed as npm would. */
function projectWithPackage(): string {
  mkdirSync(join(root, ".cache"), { recursive: true })
  const folder = mkdtempSync(join(root, ".cache", "client-"))
  after(() => rmSync(folder, { recursive: true }))
  const installed = join(folder, "node_modules", "wireworks")
  mkdirSync(installed, { recursive: true })
  cpSync(join(root, "packages", "command", "package.json"), join(installed, "package.json"))
  cpSync(dirname(builtWire), join(installed, "dist"), { recursive: true })
  symlinkSync(join(root, "node_modules", "@types"), join(folder, "node_modules", "@types"))
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }))
  const compilerOptions = { module: "nodenext", target: "es2024", strict: true, noEmit: true, types: ["node"] }
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts"] }))
  return folder
}

/** An empty folder of a user, far from this project, with the client packed and installed without a network. */
async function projectWithClientAlone(): Promise<string> {
  const stage = mkdtempSync(join(tmpdir(), "wireworks-pack-"))
  const folder = mkdtempSync(join(tmpdir(), "wireworks-caller-"))
  after(() => {
    for (const one of [stage, folder]) rmSync(one, { recursive: true })
  })
  for (const name of ["package.json", "README.md", "LICENSE"]) {
    cpSync(join(root, "packages", "client", name), join(stage, name))
  }
  await buildClient(join(stage, "dist"))
  npm(["pack", "--ignore-scripts", "--pack-destination", folder], stage)
  const [archive = ""] = readdirSync(folder)
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "mine", private: true, type: "module" }))
  npm(["install", `./${archive}`, "--offline", "--ignore-scripts", "--no-audit", "--no-fund"], folder)
  const compilerOptions = { module: "nodenext", target: "es2024", strict: true, noEmit: true, types: ["node"] }
  const typeRoots = [join(root, "node_modules", "@types")]
  writeFileSync(
    join(folder, "tsconfig.json"),
    JSON.stringify({ compilerOptions: { ...compilerOptions, typeRoots }, include: ["*.ts"] }),
  )
  return folder
}

function npm(args: readonly string[], cwd: string): void {
  const { status, stderr } = spawnSync("npm", args, { cwd, encoding: "utf8" })
  assert.equal(status, 0, `npm ${args.join(" ")}: ${stderr}`)
}

test("the client as a package of its own: every snippet of docs/client.md has its types, and runs", async () => {
  const service = await startService()
  const folder = await projectWithClientAlone()
  const about = (path: string) => JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>
  const installed = about(join(folder, "node_modules", "wireworks-client", "package.json"))
  const versions = [installed, ...["", "packages/command/"].map((at) => about(join(root, `${at}package.json`)))]
  assert.equal(new Set(versions.map(({ version }) => version)).size, 1)
  assert.ok(!("dependencies" in installed))
  assert.deepEqual(
    readdirSync(join(folder, "node_modules")).filter((name) => !name.startsWith(".")),
    ["wireworks-client"],
  )
  const pages = [page, readFileSync(join(root, "packages", "client", "README.md"), "utf8")].join("\n")
  const snippets = [...pages.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map((found) => found[1] ?? "")
  assert.ok(snippets.length >= 5)
  for (const [index, snippet] of snippets.entries()) {
    const own = snippet
      .replaceAll("http://127.0.0.1:13703", service.url)
      .replaceAll('"wireworks/client"', '"wireworks-client"')
    writeFileSync(join(folder, `snippet-${index}.ts`), own)
  }
  cpSync(join(root, "examples", "hello.wire"), join(folder, "hello.wire"))
  const types = spawnSync(join(root, "node_modules", ".bin", "tsc"), ["-p", folder], { encoding: "utf8" })
  assert.equal(types.stdout, "")
  // Not `spawnSync`: the service answers in this process.
  for (const index of snippets.keys()) {
    const { stdout } = await promisify(execFile)(process.execPath, [`snippet-${index}.ts`], {
      cwd: folder,
      timeout: 300_000,
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
for await (const event of client.workflow("greetings/hello").stream({ name: "Ada" })) {
  if (event.type === "workflow_completed") event.data.output.result.message satisfies string
  // @ts-expect-error: the output has no such field
  if (event.type === "workflow_completed") void event.data.output.result.massage
}
const { runs } = await client.runs({ workflow: "greetings/hello", limit: 5 })
if (runs.every((run) => run.run_id !== run_id)) throw new Error("The run is not in the list")
const untyped = await createClient({ baseUrl: "BASE", apiKey: "a-key" }).workflow("greetings/hello").execute({ name: "Bob" })
if (untyped.output["message"] !== "Hello, Bob.") throw new Error("untyped")
`

test("types that `wire types` wrote make calls of a running service typed", async () => {
  const folder = projectWithPackage()
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
  await promisify(execFile)(process.execPath, ["call.ts"], { cwd: folder, timeout: 300_000 })
})
