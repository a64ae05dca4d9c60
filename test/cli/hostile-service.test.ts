import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { after, describe, test } from "node:test"
import { builtWire } from "../support/built-wire.ts"
import { startServer } from "../support/http-server.ts"
import { atStrength } from "../support/strength.ts"
import { folderWith, runWire } from "./run-wire.ts"

// A service, or a proxy before it, that answers with what a terminal would obey: every command that asks a service shows it as text.

const hostile = `\u001b[2J\u001b]0;t\u0007\u009b31m\u0090q\u009c\u007f\u00ad\u200b\u202e\u2066\u2028\u2029\u0085\rover\nforged: line\u{e0061}\ufeff`
const anyHidden = /(?!\n)[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}\u00ad\u200b\u{e0061}\ufeff]/u
const at = `2026-11-18T\u001b[8m${hostile}Z`
const usage = { input_tokens: 1, output_tokens: 1, cached_tokens: 0, written_tokens: 0, reasoning_tokens: 0, cost: 1 }
const error = { kind: hostile, message: hostile, issues: [{ path: hostile, message: hostile, hint: hostile }] }

const run = {
  run_id: hostile,
  status: hostile,
  error_kind: hostile,
  caller: hostile,
  workflow: hostile,
  version: hostile,
  created_at: at,
  finished_at: at,
  rerun_of: hostile,
  output: { [hostile]: hostile },
  error,
  usage,
  last_event_id: 2,
  trigger: { webhook: hostile, delivery: hostile },
}
const question = {
  run_id: hostile,
  id: hostile,
  name: hostile,
  kind: hostile,
  to: hostile,
  status: "open",
  question: hostile,
  expires_at: at,
  created_at: at,
  schema: { type: "object", properties: { [hostile]: { type: "string" } } },
}

const events = [
  { agent: hostile, tool: hostile, server: hostile, at },
  { error, duration_ms: 1, at },
].map((data, id) => {
  const line = hostile.replaceAll(/[\r\n\u0085\u2028\u2029]/g, "")
  return `id: ${id + 1}\nevent: ${id === 0 ? line : "workflow_failed"}\ndata: ${JSON.stringify(data)}\n\n`
})

/** By the end of the path. */
const answers: [RegExp, unknown][] = [
  [/\/runs(\?|$)/, { runs: [run], next: hostile }],
  [/\/questions(\?|$)/, { questions: [question], next: null }],
  [/\/request$/, { source: 'output { a: "x" }', input: {}, workflow: hostile, modules: {} }],
  [/\/cancel$/, { run_id: hostile, status: hostile }],
  [/./, run],
]

const commands: readonly (readonly string[])[] = [
  ["runs"],
  ["runs", "show", "r"],
  ["runs", "events", "r"],
  ["runs", "events", "r", "--follow"],
  ["runs", "cancel", "r"],
  ["runs", "delete", hostile],
  ["runs", "rerun", "r"],
  ["runs", "rerun", "r", "--follow"],
  ["questions"],
  ["questions", "r"],
  ["answer", "r", "q", "a=1"],
  ["answer", "r", hostile, `${hostile}=1`],
  ["test", "add", "r"],
  ["webhook", "send", "hook.wire", "h", "--body", "body.json", "--secret", "s=env:HOOK"],
  ["runs", `--${hostile}`],
  ["runs", "--url", `http://127.0.0.1:9/${hostile}`],
  [hostile],
]

/** The same on a terminal: what is written to it, both streams. */
async function onTerminal(
  args: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>>,
): Promise<string> {
  const script = "import pty, sys; pty.spawn(sys.argv[1:])"
  const child = spawn("python3", ["-c", script, process.execPath, builtWire, ...args], {
    cwd,
    env: { ...process.env, ...env, NO_COLOR: "1", FORCE_COLOR: "", NODE_NO_WARNINGS: "1" },
    stdio: ["ignore", "pipe", "inherit"],
  })
  // A terminal ends lines with both.
  return (await text(child.stdout)).replaceAll("\r\n", "\n")
}

describe("a hostile service", { concurrency: 2 }, async () => {
  const server = await startServer((request, response) => {
    if (request.url.startsWith("/refuses/")) {
      response.writeHead(422, { "content-type": "application/json" })
      response.end(JSON.stringify({ error }))
    } else if (/\/events|\/rerun/.test(request.url)) {
      response.writeHead(200, { "content-type": "text/event-stream", "x-service-run-id": "r" })
      response.end(`retry: 1000\n\n${events.join("")}`)
    } else if (request.url.includes("/hooks/")) {
      response.writeHead(202, { "content-type": "text/plain; charset=utf-8" })
      response.end(hostile)
    } else {
      const [, answer] = answers.find(([path]) => path.test(request.url)) ?? []
      response.writeHead(request.method === "DELETE" ? 204 : 200, { "content-type": "application/json" })
      response.end(request.method === "DELETE" ? "" : JSON.stringify(answer))
    }
  })
  const cwd = folderWith({ "body.json": "{}" })
  const hook = "secrets { s: string }\nwebhook h { verify: github, secret: secrets.s }\noutput { a: 1 }\n"
  writeFileSync(join(cwd, "hook.wire"), hook)
  // Where it refuses, all commands print in the same way.
  const ways = atStrength(["answers"], ["answers", "refuses"])
  for (const answer of ways) {
    for (const args of commands) {
      const name = args.map((arg) => (arg.includes(hostile) ? "…" : arg)).join(" ")
      test(`${answer}: wire ${name}`, async () => {
        const env = { WIRE_URL: `${server.origin}/${answer}`, HOOK: "0123456789abcdef0123" }
        const shown = await onTerminal(args, cwd, env)
        assert.notEqual(shown, "")
        assert.doesNotMatch(shown, anyHidden)
        if (!args.some((arg) => arg.includes(hostile)) || args[1] === "delete")
          assert.doesNotMatch(shown, /^forged: line/m)
        if (ways.length === 1) return
        const { code, out, err } = await runWire(args, { cwd, env })
        assert.doesNotMatch(out + err, anyHidden)
        // 3 is a bug of ours.
        assert.ok(code !== null && code < 3, err)
      })
    }
  }
  after(() => server.close())
})
