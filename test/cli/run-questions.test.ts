import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { dirname, join } from "node:path"
import { describe, test } from "node:test"
import { builtWire } from "../support/built-wire.ts"
import { within } from "../support/within.ts"
import { folderWith, runWire } from "./run-wire.ts"
import { soakTest } from "../support/strength.ts"

const root = dirname(dirname(import.meta.dirname))
const approval = join(root, "examples/approval.wire")
const input = ["--input", join(root, "examples/approval.input.json")]

const pages = `input { files: [string] }
ask page for f in input.files { question: "Is {{ f }} right?" output { right: boolean, why: maybe string } }
output { pages: ask.page }
`
const expiring = `ask a { question: "Quick?" expires_seconds: 1 on_expiry: { x: "late" } output { x: string } }
output { x: ask.a.x }
`

const required = `input { least: integer }
ask a {
    question: "How many?"
    output { n: integer }
    require result.n >= input.least else "At least {{ input.least }}, not {{ result.n }}."
    require result.n != 9
}
output { n: ask.a.n }
`

const asks = `ask review { question: "Go?" output { go: boolean } }
output { went: ask.review.go }
`
const calls = `workflow triage from "./asks.wire"
output { went: call workflow.triage { approval: required } }
`

const folder = (): string =>
  folderWith({
    "required.wire": required,
    "pages.wire": pages,
    "asks.wire": asks,
    "calls.wire": calls,
    "expiring.wire": expiring,
    "answers.json": '{ "review": { "send": true, "title": "A Pattern Language" }, "reserve": { "approve": false } }',
    "pages.json": '{ "page": [{ "right": true }, { "right": false, "why": "old" }] }',
  })

describe("wire run without a terminal", () => {
  test("answers and approvals come from the command line", async () => {
    const flags = ["--answer", "review.send=true", "--answer", "review.title=The Owl Papers", "--approve", "reserve"]
    const { code, out, err } = await runWire(["run", approval, ...input, ...flags])
    assert.equal(code, 0, err)
    const result = JSON.parse(out) as Record<string, unknown>
    assert.equal(result["sent"], true)
    assert.equal(typeof result["reserved"], "string")
  })

  test("… or from a file, which can also decline", async () => {
    const cwd = folder()
    const { code, out, err } = await runWire(["run", approval, ...input, "--answers", "answers.json", "--events"], {
      cwd,
    })
    assert.equal(code, 0, err)
    const events = out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { event: string; data: { name?: string } })
    const asked = events.filter(({ event }) => event === "question_asked").map(({ data }) => data.name)
    assert.deepEqual(asked, ["review", "reserve"])
    assert.equal(events.filter(({ event }) => event === "tool_call_started").length, 1, "the declined call is not made")
  })

  test("an answer that does not fulfil a requirement is refused", async () => {
    const flags = ["--set", "least=3", "--answer", "a.n=2"]
    const { code, err } = await runWire(["run", "required.wire", ...flags], { cwd: folder() })
    assert.equal(code, 4, err)
    assert.match(err, /ask\.a: At least 3, not 2\./)
    assert.match(err, /The answer to ask\.a is refused: give another/)
    const taken = await runWire(["run", "required.wire", ...flags, "--answer", "a.n=3"], { cwd: folder() })
    assert.equal(taken.code, 0, taken.err)
  })

  soakTest("a loop is answered item by item", async () => {
    const files = ["--set", 'files=["a", "b"]']
    const { code, out, err } = await runWire(["run", "pages.wire", ...files, "--answers", "pages.json"], {
      cwd: folder(),
    })
    assert.equal(code, 0, err)
    assert.deepEqual(JSON.parse(out), {
      pages: [
        { right: true, why: null },
        { right: false, why: "old" },
      ],
    })
  })

  test("a missing answer ends it with code 4, and is named", async () => {
    const nothing = await runWire(["run", approval, ...input])
    assert.equal(nothing.code, 4)
    assert.equal(nothing.out, "")
    assert.match(nothing.err, /Send this to Ada\?/)
    assert.match(nothing.err, /Missing: ask\.review needs an answer\. Give it with --answer review\.send=…/)
    const some = await runWire([
      "run",
      approval,
      ...input,
      "--answer",
      "review.send=true",
      "--answer",
      "review.title=X",
    ])
    assert.equal(some.code, 4)
    assert.match(some.err, /Missing: a call of tool\.reserve needs an approval\. Give it with --approve reserve\./)
  })

  test("a missing answer in a called file, or to its call, is named as the command line takes it", async () => {
    const cwd = folder()
    const asked = await runWire(["run", "calls.wire", "--approve", "triage"], { cwd })
    assert.equal(asked.code, 4)
    assert.match(
      asked.err,
      /Missing: ask\.triage\.review needs an answer\. Give it with --answer triage\.review\.go=…,/,
    )
    const called = await runWire(["run", "calls.wire"], { cwd })
    assert.equal(called.code, 4)
    assert.match(
      called.err,
      /\? workflow\.triage wants to be called\n[^]*│ workflow {3}"triage"\n[^]*│ file {7}"asks\.wire"/,
    )
    assert.doesNotMatch(called.err, /server|endpoint/)
    assert.match(called.err, /Missing: a call of workflow\.triage needs an approval\. Give it with --approve triage\./)
    const given = ["--approve", "triage", "--answer", "triage.review.go=true"]
    const { code, out, err } = await runWire(["run", "calls.wire", ...given], { cwd })
    assert.equal(code, 0, err)
    assert.deepEqual(JSON.parse(out), { went: { went: true } })
  })

  soakTest("flags that do not fit the workflow are refused before it runs", async () => {
    for (const [flags, sentence] of [
      [["--answer", "reviev.send=true"], /no question reviev; did you mean review\?/],
      [["--answer", "review.send=perhaps"], /review\.send: expected boolean/],
      [["--approve", "find_books"], /no tool find_books whose calls need an approval/],
      [["--answers", "/nowhere.json"], /cannot be read \(no such file\)/],
    ] as const) {
      const { code, err } = await runWire(["run", approval, ...input, ...flags])
      assert.equal(code, 2, err)
      assert.match(err, sentence)
    }
  })
})

const python = ["/usr/bin/python3"].find((path) => existsSync(path))

/** Runs the command on a terminal, and types each text once what it waits for has appeared. */
const onTerminal = `
import os, pty, select, sys, json
steps = json.loads(sys.argv[1])
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[2], sys.argv[2:])
out = b""
seen = 0
while True:
    try:
        data = os.read(fd, 65536)
    except OSError:
        break
    if not data:
        break
    out += data
    if steps and steps[0][0].encode() in out[seen:]:
        seen = len(out)
        os.write(fd, steps.pop(0)[1].encode())
sys.stdout.buffer.write(out)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`

describe("wire run in a terminal", { skip: python === undefined ? "needs python3 for a terminal" : false }, () => {
  const typing = async (args: readonly string[], steps: readonly (readonly [string, string])[]) => {
    const all = ["-c", onTerminal, JSON.stringify(steps), process.execPath, builtWire, ...args]
    const child = spawn(python ?? "", all, {
      env: { ...process.env, TERM: "xterm" },
      stdio: ["ignore", "pipe", "inherit"],
    })
    let shown = ""
    child.stdout.on("data", (chunk: { toString(): string }) => (shown += chunk.toString()))
    const code = await within(120_000, "the end", new Promise<number | null>((resolve) => child.on("close", resolve)))
    return { code, shown }
  }

  test("asks for each field, again what does not fit, and y or n for a call", async () => {
    const { code, shown } = await typing(
      ["run", approval, ...input],
      [
        ["send (boolean", "perhaps\r"],
        ["expected boolean", "y\r"],
        ["title (maybe string", "The Owl Papers\r"],
        ["note (maybe string", "\r"],
        ["Approve this call?", "y\r"],
      ],
    )
    assert.equal(code, 0, shown)
    assert.match(shown, /Which book should be reserved\?/)
    assert.match(shown, /"sent": true/)
  })

  soakTest("shows which requirements an answer does not fulfil, and asks again", async () => {
    const { code, shown } = await typing(
      ["run", join(folder(), "required.wire"), "--set", "least=10", "--answer", "a.n=1"],
      [
        ["At least 10, not 1.", "9\r"],
        ["Required: result.n != 9", "12\r"],
      ],
    )
    assert.equal(code, 0, shown)
    assert.match(shown, /At least 10, not 9\./)
    assert.match(shown, /"n": 12/)
  })

  soakTest("Ctrl+C cancels the run, Ctrl+D leaves the answer missing", async () => {
    const cancelled = await typing(["run", approval, ...input], [["send (boolean", "\u0003"]])
    assert.equal(cancelled.code, 130, cancelled.shown)
    const left = await typing(["run", approval, ...input], [["send (boolean", "\u0004"]])
    assert.equal(left.code, 4, left.shown)
    assert.match(left.shown, /Missing: ask\.review needs an answer/)
  })

  soakTest("a question that expires leaves the terminal", async () => {
    const { code, shown } = await typing(["run", join(folder(), "expiring.wire")], [])
    assert.equal(code, 0, shown)
    assert.match(shown, /"x": "late"/)
  })
})
