import assert from "node:assert/strict"
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test } from "node:test"
import { within } from "../../../test/support/within.ts"
import { LogLines } from "./log-lines.ts"

const skip = !existsSync("/dev/full") && "there is no /dev/full"

/** What a process writes that runs this, with `log`. */
function writtenBy(code: string, level = "info"): Record<string, unknown>[] {
  const script = `
    import { createLog } from ${JSON.stringify(import.meta.resolve("./log.ts"))}
    import { StoreFailure } from ${JSON.stringify(import.meta.resolve("../../ports/store.ts"))}
    const log = createLog(${JSON.stringify(level)})
    ${code}`
  const { stderr, status } = spawnSync(process.execPath, ["--input-type=module-typescript", "-e", script], {
    encoding: "utf8",
  })
  assert.equal(status, 0, stderr)
  return stderr
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}

test("a line has its level and time first and its message last", () => {
  const [line = {}, none] = writtenBy(`log.info({ run_id: "a", left: undefined }, "it \\"ran\\"")`)
  assert.equal(none, undefined)
  assert.deepEqual(Object.keys(line), ["level", "time", "run_id", "msg"])
  assert.match(String(line["time"]), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  assert.deepEqual([line["level"], line["run_id"], line["msg"]], ["info", "a", 'it "ran"'])
})

test("lines that are less severe than asked for are not written, and `silent` writes none", () => {
  const code = `log.info({}, "one"); log.warn({}, "two"); log.error({}, "three"); setTimeout(() => process.exit(0), 1)`
  assert.deepEqual(
    writtenBy(code, "warn").map(({ level, msg }) => [level, msg]),
    [
      ["warn", "two"],
      ["error", "three"],
    ],
  )
  assert.deepEqual(writtenBy(code, "silent"), [])
})

test("an error is logged without its message, unless it is the store's", () => {
  const [own, store] = writtenBy(`
    log.error({ err: new TypeError("a secret") }, "unexpected")
    log.error({ err: new StoreFailure("The disk is full") }, "unexpected")`)
  assert.ok(!JSON.stringify(own).includes('"message"'))
  assert.match(JSON.stringify(own), /TypeError/)
  assert.match(JSON.stringify(store), /"message":"The disk is full"/)
})

test("lines are written in their order, many at a time, and the last ones when the process ends", () => {
  const lines = writtenBy(`
    for (let n = 0; n < 2_000; n++) log.info({ n, text: "é".repeat(n % 50) }, "line")
    setTimeout(() => { for (let n = 2_000; n < 2_100; n++) log.info({ n, text: "" }, "line"); process.exit(0) }, 300)`)
  assert.deepEqual(
    lines.map(({ n }) => n),
    Array.from({ length: 2_100 }, (_, n) => n),
  )
})

test("what turns or hides text is escaped", () => {
  const text = "a\u202eb\u200bc\u009b2Jd\n"
  const script = `
    import { createLog } from ${JSON.stringify(import.meta.resolve("./log.ts"))}
    createLog("info").info({ text: ${JSON.stringify(text)} }, "it ran")`
  const { stderr } = spawnSync(process.execPath, ["--input-type=module-typescript", "-e", script], { encoding: "utf8" })
  assert.doesNotMatch(stderr, /[\u202e\u200b\u009b]/)
  assert.equal((JSON.parse(stderr) as { text: string }).text, text)
})

test(
  "a log that cannot be written costs its lines alone, and the next line that can be says how many",
  { skip },
  async () => {
    const script = `
    import { createLog } from ${JSON.stringify(import.meta.resolve("./log.ts"))}
    const log = createLog("info")
    for (let n = 0; n < 1000; n++) log.error({ n }, "a line")
    process.on("SIGTERM", () => process.exit(0))
    process.stdin.once("data", () => process.kill(process.pid, "SIGTERM"))
    console.log("ready")`
    const full = openSync("/dev/full", "w")
    const child = spawn(process.execPath, ["--input-type=module-typescript", "-e", script], {
      stdio: ["pipe", "pipe", full],
    })
    after(() => {
      child.kill("SIGKILL")
      closeSync(full)
    })
    const ended = once(child, "exit")
    assert.ok(child.stdout !== null && child.stdin !== null)
    await within(30_000, "the start", once(child.stdout, "data"))
    child.stdin.write("stop\n")
    assert.deepEqual(await within(30_000, "the end", ended), [0, null])

    const folder = mkdtempSync(join(tmpdir(), "wireworks-log-"))
    after(() => rmSync(folder, { recursive: true }))
    const path = join(folder, "log")
    const fd = openSync(path, "w+")
    const readOnly = openSync(path, "r")
    const lines = new LogLines(readOnly)
    for (const line of ["a\n", "b\n"]) lines.write(line)
    lines.flush()
    // The descriptor becomes one that can be written to.
    await within(
      30_000,
      "the refusal",
      until(() => lines.lost === 2),
    )
    closeSync(readOnly)
    assert.equal(openSync(path, "a"), readOnly)
    lines.write("c\n")
    lines.flush()
    await within(
      30_000,
      "the lines",
      until(() => readFileSync(path, "utf8").endsWith("c\n")),
    )
    const [lost = ""] = readFileSync(path, "utf8").split("\n")
    assert.match(lost, /"lines":2,"msg":"lines of the log could not be written"/)
    closeSync(fd)
  },
)

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve))
}
