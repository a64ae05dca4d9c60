import assert from "node:assert/strict"
import {
  appendFileSync,
  chmodSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test } from "node:test"
import { AuditFile, WrongAuditFile } from "./audit-file.ts"
import { firstPrev, hashOf } from "./audit-line.ts"
import { verifyAudit } from "./verify-audit.ts"

const folder = mkdtempSync(join(tmpdir(), "wireworks-audit-"))
after(() => rmSync(folder, { recursive: true }))
let files = 0
const newPath = (): string => join(folder, `${files++}.jsonl`)

function written(count: number): string {
  const path = newPath()
  const file = new AuditFile(path)
  for (let n = 1; n <= count; n++) file.append({ act: "started", run_id: `r${n}` })
  file.close()
  return path
}

const linesOf = (path: string): string[] => readFileSync(path, "utf8").split("\n").slice(0, -1)

test("each line has the hash of the one before it, over restarts too", async () => {
  const path = written(2)
  const again = new AuditFile(path)
  assert.equal(again.wasCut, false)
  again.append({ act: "deleted", run_id: "r3" })
  again.close()
  const lines = linesOf(path)
  const prevs = lines.map((line) => (JSON.parse(line) as { prev: string }).prev)
  assert.deepEqual(prevs, [firstPrev, hashOf(lines[0] ?? ""), hashOf(lines[1] ?? "")])
  assert.deepEqual(await verifyAudit(path), { lines: 3, hash: hashOf(lines[2] ?? ""), lost: 0, problem: null })
  if (process.platform !== "win32") assert.equal(statSync(path).mode & 0o777, 0o600)
})

test("a last line that was cut is removed, and the next one says so", async () => {
  for (const bytes of [1, 20, 60]) {
    const path = written(3)
    truncateSync(path, statSync(path).size - bytes)
    assert.equal((await verifyAudit(path)).problem?.line, 3)
    const file = new AuditFile(path)
    assert.equal(file.wasCut, true)
    file.append({ act: "started", run_id: "r4" })
    file.append({ act: "started", run_id: "r5" })
    file.close()
    const report = await verifyAudit(path)
    assert.deepEqual([report.lines, report.lost, report.problem], [4, 1, null])
  }
  // Also where it was the only one.
  const path = written(1)
  truncateSync(path, 30)
  new AuditFile(path).close()
  assert.equal(statSync(path).size, 0)
})

test("a line that was changed, removed, added or moved is found", async () => {
  const change = async (edit: (lines: string[]) => string[]): Promise<number | undefined> => {
    const path = written(5)
    writeFileSync(
      path,
      edit(linesOf(path))
        .map((line) => `${line}\n`)
        .join(""),
    )
    return (await verifyAudit(path)).problem?.line
  }
  assert.equal(await change((lines) => lines), undefined)
  assert.equal(await change((lines) => lines.with(1, lines[1]?.replace("r2", "r9") ?? "")), 3)
  assert.equal(await change((lines) => lines.toSpliced(2, 1)), 3)
  assert.equal(await change((lines) => lines.slice(1)), 1)
  assert.equal(await change((lines) => lines.toSpliced(3, 0, lines[1] ?? "")), 4)
  assert.equal(await change((lines) => [lines[0] ?? "", lines[2] ?? "", lines[1] ?? "", ...lines.slice(3)]), 2)
  assert.equal(await change((lines) => lines.with(3, "")), 4)
  assert.equal(await change((lines) => lines.with(3, "{}")), 4)
})

test("two processes that write to one file leave a chain that fits", async () => {
  const path = newPath()
  const [one, other] = [new AuditFile(path), new AuditFile(path)]
  for (let n = 0; n < 5; n++) {
    one.append({ act: "started", run_id: `a${n}` })
    other.append({ act: "started", run_id: `b${n}` })
  }
  one.close()
  other.close()
  const report = await verifyAudit(path)
  assert.deepEqual([report.lines, report.problem], [10, null])
})

test("what is not an audit trail, or cannot be written, is refused and left as it is", () => {
  for (const content of ["hello\n", "{}\n", '{"api_key": "x"}', '{"api_key": "x"}\n', "\n", "x", "\0\0\0\0"]) {
    const path = newPath()
    writeFileSync(path, content)
    assert.throws(() => new AuditFile(path), WrongAuditFile, JSON.stringify(content))
    assert.equal(readFileSync(path, "utf8"), content)
  }
  assert.throws(() => new AuditFile(folder), /must be a file that can be written \(EISDIR\)/)
  assert.throws(() => new AuditFile(join(folder, "none", "x")), /ENOENT/)
  if (process.platform === "linux") assert.throws(() => new AuditFile("/dev/null"), /must be a file/)
  const path = written(1)
  chmodSync(path, 0o400)
  if (process.getuid?.() !== 0) assert.throws(() => new AuditFile(path), /EACCES/)
})

test("nothing in a line is hidden, or ends a line for some readers", async () => {
  const path = newPath()
  const file = new AuditFile(path)
  const by = "a\u2028b\u2029\u0085\u202e\u009b31m\u001b[2J\u200b"
  file.append({ act: "answered", run_id: "r1", by })
  file.append({ act: "answered", run_id: "r2", by })
  file.close()
  const text = readFileSync(path, "utf8")
  assert.match(text, /^[\n -~]*$/)
  assert.equal((JSON.parse(text.split("\n")[0] ?? "") as { by: string }).by, by)
  assert.deepEqual([(await verifyAudit(path)).lines, (await verifyAudit(path)).problem], [2, null])
})

test("garbage after the last line is removed like a line that was cut", async () => {
  const path = written(2)
  appendFileSync(path, "\0\0\0\0\0")
  const file = new AuditFile(path)
  file.append({ act: "started", run_id: "r3" })
  file.close()
  assert.deepEqual([(await verifyAudit(path)).lines, (await verifyAudit(path)).problem], [3, null])
})
