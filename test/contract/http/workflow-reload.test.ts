import assert from "node:assert/strict"
import { hash } from "node:crypto"
import { EventEmitter, once } from "node:events"
import { mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync, mkdirSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, describe, it } from "node:test"
import type { WorkflowAnswer, WorkflowDetail, WorkflowsAnswer } from "../../../src/api/workflows.ts"
import { compile } from "../../../src/compile.ts"
import { Compiler } from "../../../src/compiler/compiler.ts"
import { isError } from "../../../src/source/diagnostic.ts"
import { WorkflowFolder } from "../../../src/workflows/workflow-folder.ts"
import { within } from "../../support/within.ts"
import { ada, hello, startService } from "./start-service.ts"

const answering = (text: string): string => `input { name: string }\noutput { answer: "${text}" }\n`

const versionOf = (source: string): string => hash("sha256", source).slice(0, 12)

describe("a folder that changes", async () => {
  const folder = mkdtempSync(join(tmpdir(), "wireworks-reload-"))
  after(() => rmSync(folder, { recursive: true, force: true }))
  const write = (name: string, text: string | Uint8Array): void => writeFileSync(join(folder, name), text)
  write("flow.wire", answering("one"))
  write("other.wire", hello)
  const service = await startService({ WORKFLOWS: folder })

  const list = async (): Promise<WorkflowsAnswer["workflows"]> =>
    ((await (await service.get("/workflows")).json()) as WorkflowsAnswer).workflows
  const named = async (name: string): Promise<WorkflowAnswer | undefined> =>
    (await list()).find((workflow) => workflow.name === name)

  /** Waits until a workflow is as expected. */
  async function until(
    name: string,
    what: string,
    fits: (found: WorkflowAnswer | undefined) => boolean,
  ): Promise<void> {
    let late = false
    const look = async (): Promise<void> => {
      while (!late && !fits(await named(name))) await new Promise((resolve) => setImmediate(resolve))
    }
    await within(30_000, what, look()).finally(() => (late = true))
  }
  const answer = async (name: string): Promise<unknown> => {
    const response = await service.post(`/workflows/${name}/execute`, { input: ada })
    return response.status === 200 ? ((await response.json()) as { answer: string }).answer : response.status
  }

  it("serves the new version of a changed file", async () => {
    const before = (await named("flow"))?.version
    write("flow.wire", answering("two"))
    await until("flow", "the new version", (found) => found?.version !== before)
    assert.equal(await answer("flow"), "two")
    const before2 = (await named("flow"))?.version
    // As editors do it: a new file takes the place of the old one.
    write("flow.tmp", answering("three"))
    renameSync(join(folder, "flow.tmp"), join(folder, "flow.wire"))
    await until("flow", "the version that was moved in", (found) => found?.version !== before2)
    assert.equal(await answer("flow"), "three")
  })

  it("keeps the last good version while the file has errors, and shows what is wrong", async () => {
    const good = await named("flow")
    write("flow.wire", "output { answer: input.nothing }\n")
    await until("flow", "the error", (found) => found?.valid === false)
    const { version, schemas, valid, issues } = (await named("flow")) as WorkflowAnswer
    assert.deepEqual([version, valid, issues[0]?.code], [good?.version, false, "unknown-reference"])
    assert.deepEqual(schemas, good?.schemas)
    const detail = (await (await service.get("/workflows/flow")).json()) as WorkflowDetail
    assert.equal(detail.source, answering("three"))
    assert.equal(await answer("flow"), "three")
    for (const bytes of [Buffer.from([0xff, 0x0a]), "agent {\n"]) {
      write("flow.wire", bytes)
      const code = typeof bytes === "string" ? "syntax-error" : "workflow-encoding"
      await until("flow", code, (found) => found?.issues[0]?.code === code)
      assert.equal(await answer("flow"), "three")
    }
    write("flow.wire", answering("four"))
    await until("flow", "the good file", (found) => found?.valid === true && found.issues.length === 0)
    assert.equal(await answer("flow"), "four")
  })

  it("keeps the last good version of a file that has errors and has lost its output, until it is a library without errors", async () => {
    const good = await named("flow")
    const broken = ["schema task { due: nothing }\n", "model m from nowhere { id: 1 }\n"]
    for (const text of broken) {
      write("flow.wire", text)
      const { code } = compile(text).diagnostics.find(isError) ?? assert.fail()
      await until("flow", code, (found) => found?.issues.some((issue) => issue.code === code) === true)
      const { version, valid } = (await named("flow")) as WorkflowAnswer
      assert.deepEqual([version, valid, await answer("flow")], [good?.version, false, "four"])
    }
    // A file that has never served is shown as it was: with its errors, or not at all.
    write("never.wire", "agent {\n")
    await until("never", "the syntax error", (found) => found?.valid === false)
    write("never.wire", broken[0] ?? "")
    await until("never", "the other error", (found) => found?.issues[0]?.code === "unknown-type")
    assert.equal(await answer("never"), 422)
    for (const name of ["never", "flow"]) {
      write(`${name}.wire`, "schema task { due: string }\n")
      await until(name, "its end", (found) => found === undefined)
    }
    write("flow.wire", answering("four"))
    await until("flow", "the good file", (found) => found?.valid === true)
    unlinkSync(join(folder, "never.wire"))
  })

  it("keeps the last good version of a file that is empty, until it is deleted", async () => {
    for (const text of ["", "\n", "// The workflow.\n", "\uFEFF"]) {
      write("flow.wire", text)
      await until("flow", JSON.stringify(text), (found) => found?.issues[0]?.code === "workflow-empty")
      const { version, valid } = (await named("flow")) as WorkflowAnswer
      assert.deepEqual([version, valid, await answer("flow")], [versionOf(answering("four")), false, "four"])
      write("flow.wire", answering("four"))
      await until("flow", "the good file", (found) => found?.valid === true && found.issues.length === 0)
    }
    write("blank.wire", "")
    write("flow.wire", "")
    await until("flow", "the empty file", (found) => found?.valid === false)
    unlinkSync(join(folder, "flow.wire"))
    await until("flow", "its end", (found) => found === undefined)
    // A file that has never served is not shown.
    assert.equal(await named("blank"), undefined)
    write("flow.wire", answering("four"))
    await until("flow", "the good file", (found) => found?.valid === true)
  })

  it("takes up a file without a line break at its end when nothing more comes", async () => {
    const whole = answering("five")
    write("flow.wire", whole.slice(0, -1))
    await until("flow", "the whole file", (found) => found?.version === versionOf(whole.slice(0, -1)))
    assert.equal(await answer("flow"), "five")
  })

  it("follows files that come, go and are renamed; the rest keeps serving", async () => {
    mkdirSync(join(folder, "deep"))
    write("deep/new.wire", answering("new"))
    await until("deep/new", "the new file", (found) => found?.valid === true)
    assert.equal(await answer("deep/new"), "new")
    renameSync(join(folder, "deep/new.wire"), join(folder, "deep/renamed.wire"))
    await until("deep/new", "the end of the old name", (found) => found === undefined)
    await until("deep/renamed", "the new name", (found) => found?.valid === true)
    assert.deepEqual([await answer("deep/new"), await answer("deep/renamed")], [404, "new"])
    rmSync(join(folder, "deep"), { recursive: true })
    await until("deep/renamed", "its end", (found) => found === undefined)
    assert.equal(await answer("deep/renamed"), 404)
    assert.equal((await service.post("/workflows/other/execute", { input: ada })).status, 200)
  })

  it("shows names and links that are refused, as they come", async () => {
    write("odd name.wire", hello)
    await until("odd name", "the issue", (found) => found?.issues[0]?.code === "workflow-name")
    const outside = mkdtempSync(join(tmpdir(), "wireworks-outside-"))
    after(() => rmSync(outside, { recursive: true, force: true }))
    writeFileSync(join(outside, "x.wire"), hello)
    symlinkSync(join(outside, "x.wire"), join(folder, "link.wire"))
    await until("link", "the issue", (found) => found?.issues[0]?.code === "workflow-link")
    assert.equal(await answer("link"), 404)
    unlinkSync(join(folder, "link.wire"))
    write("link.wire", answering("a file"))
    await until("link", "the file", (found) => found?.valid === true)
    assert.equal(await answer("link"), "a file")
  })

  it("replays a request whose workflow has changed since", async () => {
    const key = { "idempotency-key": "changed" }
    const first = await service.post("/workflows/flow/execute", { input: ada }, key)
    const good = (await named("flow"))?.version
    write("flow.wire", 'input { other: integer }\noutput { answer: "six" }\n')
    await until("flow", "the new version", (found) => found?.version !== good)
    const again = await service.post("/workflows/flow/execute", { input: ada }, key)
    assert.equal(again.headers.get("idempotency-replayed"), "true")
    assert.deepEqual(await again.json(), await first.json())
    assert.equal((await service.post("/workflows/flow/execute", { input: ada })).status, 422)
  })
})

describe("a file that is half written", () => {
  it("is not taken up", async () => {
    const path = mkdtempSync(join(tmpdir(), "wireworks-half-"))
    after(() => rmSync(path, { recursive: true, force: true }))
    const write = (name: string, text: string): void => writeFileSync(join(path, name), text)
    write("flow.wire", answering("four"))
    const compiler = new Compiler()
    const folder = await WorkflowFolder.open({
      folder: path,
      compiler,
      tell: () => undefined,
      bug: (error) => assert.fail(String(error)),
      // Longer than the test takes on any machine.
      halfWrittenMs: 3_600_000,
    })
    after(() => folder.close().then(() => compiler.close()))
    await folder.ready
    const until = async (what: string, holds: () => boolean): Promise<void> => {
      const changes = new EventEmitter()
      const stop = folder.onChange(() => changes.emit("change"))
      const look = async (): Promise<void> => {
        while (!holds()) await once(changes, "change")
      }
      await within(30_000, what, look()).finally(stop)
    }
    const served = (): string | undefined => folder.get("flow")?.serving?.version
    const good = served()
    assert.equal(good, versionOf(answering("four")))
    const whole = answering("five")
    // Cut where what is there would be a whole workflow with another meaning, or none at all.
    for (const half of ["", "output { answer: 1 }", whole.slice(0, -8)]) {
      write("flow.wire", half)
      // Written after it, and taken up: the folder was looked at.
      write("marker.wire", answering(`seen ${half.length}`))
      const marked = versionOf(answering(`seen ${half.length}`))
      await until("a file that is whole", () => folder.get("marker")?.serving?.version === marked)
      assert.deepEqual([served(), folder.get("flow")?.issues], [good, []])
    }
    write("flow.wire", whole)
    await until("the whole file", () => served() === versionOf(whole))
  })
})

describe("a mounted ConfigMap", () => {
  it("is followed: its files are links into a folder that is swapped", async () => {
    const folder = mkdtempSync(join(tmpdir(), "wireworks-configmap-"))
    after(() => rmSync(folder, { recursive: true, force: true }))
    const put = (version: string): void => {
      mkdirSync(join(folder, `..${version}`))
      writeFileSync(join(folder, `..${version}`, "flow.wire"), answering(version))
      symlinkSync(`..${version}`, join(folder, "..data_tmp"))
      renameSync(join(folder, "..data_tmp"), join(folder, "..data"))
    }
    put("v1")
    symlinkSync("..data/flow.wire", join(folder, "flow.wire"))
    const service = await startService({ WORKFLOWS: folder })
    const answer = async (): Promise<string> => {
      const response = await service.post("/workflows/flow/execute", { input: ada })
      return ((await response.json()) as { answer: string }).answer
    }
    assert.equal(await answer(), "v1")
    put("v2")
    let late = false
    const look = async (): Promise<void> => {
      while (!late && (await answer()) !== "v2") await new Promise((resolve) => setImmediate(resolve))
    }
    await within(30_000, "the second version", look()).finally(() => (late = true))
  })
})
