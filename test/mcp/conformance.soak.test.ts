import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { text } from "node:stream/consumers"
import { after, describe, test } from "node:test"
import { fileURLToPath } from "node:url"
import { folderWith, startWire } from "../cli/run-wire.ts"
import { startService } from "../contract/http/start-service.ts"
import { builtProgram } from "../support/built-programs.ts"
import { startServer } from "../support/http-server.ts"
import { within } from "../support/within.ts"

const manifest = createRequire(import.meta.url).resolve("@modelcontextprotocol/conformance/package.json")
const suite = join(dirname(manifest), "dist", "index.js")
const expected = fileURLToPath(new URL("conformance-expected-failures.yml", import.meta.url))
const client = builtProgram("conformance-client")

const results = mkdtempSync(join(tmpdir(), "wireworks-conformance-"))
after(() => rmSync(results, { recursive: true, force: true }))

/** What each revision asks of clients; those of it that begin with `auth/` ask for a sign-in in a browser, which a run cannot do. */
const revisions = {
  "2026-07-28": [
    "tools_call",
    "request-metadata",
    "sep-2322-client-request-state",
    "http-standard-headers",
    "http-custom-headers",
    "http-invalid-tool-headers",
    "json-schema-ref-no-deref",
    "json-schema-2020-12-preservation",
  ],
  "2025-11-25": [
    "initialize",
    "tools_call",
    "elicitation-sep1034-client-defaults",
    "sse-retry",
    "json-schema-2020-12-preservation",
  ],
}

/** The Tasks extension, asked of a service with workflows of the names that the suite wants. */
const taskScenarios = [
  "tasks-lifecycle",
  "tasks-capability-negotiation",
  "tasks-wire-fields",
  "tasks-request-state-removal",
  "tasks-mrtr-input",
  "tasks-request-headers",
  "tasks-dispatch-and-envelope",
  "tasks-status-notifications",
  "tasks-required-task-error",
  "tasks-mrtr-composition",
]

async function runSuite(args: readonly string[]): Promise<{ readonly code: number | null; readonly said: string }> {
  // Twenty processes load the same modules.
  const env = { NODE_COMPILE_CACHE: join(results, "compiled"), ...process.env }
  const child = spawn(process.execPath, ["--no-deprecation", suite, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env,
  })
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve))
  const all = Promise.all([ended, text(child.stdout), text(child.stderr)])
  try {
    const [code, out, err] = await within(60_000, "the end of the suite", all)
    return { code, said: `${out}\n${err}` }
  } finally {
    child.kill("SIGKILL")
  }
}

describe("the protocol's conformance suite for clients", { concurrency: 2 }, () => {
  for (const [revision, scenarios] of Object.entries(revisions)) {
    test(`${revision}: no scenario of the suite is left out`, async () => {
      const { said } = await runSuite(["list", "--client", "--requirements", revision])
      // Required ones stand below the clients' heading, later ones are marked `[client]`.
      const [, required = ""] = /Client scenarios[^\n]*\n((?: {2}- [^\n]+\n)+)/.exec(said) ?? []
      const later = [...said.matchAll(/^ {4}- (\S+) \[client\]$/gm)].map(([, name = ""]) => name)
      const known = [...[...required.matchAll(/- (\S+)/g)].map(([, name = ""]) => name), ...later]
      assert.deepEqual(known.filter((name) => !name.startsWith("auth/")).toSorted(), scenarios.toSorted())
    })

    for (const scenario of scenarios) {
      test(`${revision}: ${scenario}`, async () => {
        const options = {
          command: `${process.execPath} ${client}`,
          scenario,
          "spec-version": revision,
          "expected-failures": expected,
          "output-dir": results,
        }
        const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value])
        const { code, said } = await runSuite(["client", ...args])
        assert.equal(code, 0, said)
      })
    }
  }

  for (const scenario of ["auth/client-credentials-basic", "auth/client-credentials-jwt"]) {
    test(`the extension of client credentials: ${scenario}`, async () => {
      const options = { command: `${process.execPath} ${client}`, scenario, "output-dir": results }
      const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value])
      const { code, said } = await runSuite(["client", ...args])
      assert.equal(code, 0, said)
    })
  }

  test("every expected failure is of a scenario that is run", () => {
    const entries = [...readFileSync(expected, "utf8").matchAll(/^ {2}- (\S+)$/gm)].map(([, name = ""]) => name)
    assert.ok(entries.length > 0)
    const all = [...Object.values(revisions).flat(), ...taskScenarios]
    for (const entry of entries) assert.ok(all.includes(entry), entry)
  })
})

describe(
  "the protocol's conformance suite for servers, as far as it needs no tools of its own",
  { concurrency: 2 },
  () => {
    const scenarios = {
      "2026-07-28": ["tools-list", "http-header-validation", "dns-rebinding-protection"],
      "2025-11-25": ["server-initialize", "ping", "tools-list", "dns-rebinding-protection"],
    }
    const folder = folderWith({ "plain.wire": "input { a: integer }\noutput { b: input.a }\n" })
    const starting = startWire(["mcp", "serve", join(folder, "plain.wire"), "--http", "--port", "0"])
    after(async () => {
      const service = await starting
      service.child.kill("SIGTERM")
      await service.ended
    })

    for (const [revision, names] of Object.entries(scenarios)) {
      for (const scenario of names) {
        test(`${revision}: ${scenario}`, async () => {
          const { address } = await starting
          const options = { url: address, scenario, "spec-version": revision, "output-dir": results }
          const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value])
          const { code, said } = await runSuite(["server", ...args])
          assert.equal(code, 0, said)
        })
      }
    }
  },
)

describe("the protocol's conformance suite for the Tasks extension", { concurrency: 2 }, async () => {
  const work = await startServer(({ url }, response) => {
    const [, what, seconds] = url.split("/")
    const answer = (): void => {
      response.writeHead(what === "fail" ? 500 : 200, { "content-type": "application/json" })
      response.end(JSON.stringify({ done: true }))
    }
    setTimeout(answer, Number(seconds) * 1000).unref()
  })
  const api = `api work { endpoint: "${work.origin}"  timeout_seconds: 120 }`
  const folder = folderWith({
    "greet.wire": `input { name: string } output { text: "Hello, {{ input.name }}!" }`,
    "slow_compute.wire": `input { seconds: number  label: maybe string }
${api}
tool wait from api.work."GET /wait/{seconds}" { input { seconds: number } }
output { done: call tool.wait { input { seconds: input.seconds } } }`,
    "failing_job.wire": `${api} tool fail from api.work."GET /fail/1.2" output { done: call tool.fail }`,
    "confirm_delete.wire": `input { filename: string }
ask sure { question: "Delete {{ input.filename }}?" output { confirm: boolean } }
output { deleted: ask.sure.confirm }`,
    "multi_input.wire": `ask one { question: "First?" output { name: string  confirm: boolean } }
ask two { question: "Second?" output { name: string  confirm: boolean } }
output { one: ask.one.name  two: ask.two.name }`,
  })
  const service = await startService({ WORKFLOWS: folder })
  after(() => work.close())

  for (const scenario of taskScenarios) {
    test(scenario, async () => {
      const options = { url: `${service.url}/mcp`, scenario, "expected-failures": expected, "output-dir": results }
      const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value])
      const { code, said } = await runSuite(["server", ...args])
      assert.equal(code, 0, said)
    })
  }
})
