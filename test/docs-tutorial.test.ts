import assert from "node:assert/strict"
import type { ChildProcess } from "node:child_process"
import { spawn } from "node:child_process"
import { createHash } from "node:crypto"
import { chmodSync, cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { text } from "node:stream/consumers"
import { after, before, describe, test } from "node:test"
import type { DemoServer } from "../src/demo/demo-server.ts"
import { startDemoServer } from "../src/demo/demo-server.ts"
import { folderWith } from "./cli/run-wire.ts"
import { builtWire } from "./support/built-wire.ts"
import { within } from "./support/within.ts"

// Walks through docs/tutorial.md as a reader does, in one folder. "Save this as `path`:" writes the fence that follows. The commands of a
// `console` fence are run, and print what follows them (`…` stands for anything); a server runs until the next of its kind. A `text`
// fence is what the receiver prints. Fences marked `sh` are for the reader alone. The demo model stands in for OpenAI.

const root = dirname(import.meta.dirname)
const page = readFileSync(join(root, "docs", "tutorial.md"), "utf8")

interface Part {
  readonly line: number
  readonly kind: string
  readonly body: string
  /** The file that it is saved as. */
  readonly file: string | null
}

function partsOf(section: string, firstLine: number): Part[] {
  return [...section.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(({ 1: kind = "", 2: body = "", index }) => {
    const file = /Save this as `([^`]+)`:\n\n$/.exec(section.slice(0, index))?.[1] ?? null
    return { line: firstLine + section.slice(0, index).split("\n").length - 1, kind, body, file }
  })
}

interface Running {
  readonly child: ChildProcess
  readonly address: string
  output(): string
}

describe("docs/tutorial.md", () => {
  let demo: DemoServer
  const folder = folderWith({ "bin/wire": `#!/bin/sh\nexec "${process.execPath}" "${builtWire}" "$@"\n` })
  const PATH = [join(folder, "bin"), dirname(process.execPath), process.env["PATH"] ?? ""].join(":")
  const env = { ...process.env, PATH, OPENAI_API_KEY: "canary-key-of-the-tutorial", WIRE_PORT: "0" }
  const running = new Map<"service" | "receiver", Running>()

  before(async () => {
    demo = await startDemoServer()
    chmodSync(join(folder, "bin/wire"), 0o755)
    // As npm would install them.
    const installed = join(folder, "node_modules", "wireworks")
    mkdirSync(installed, { recursive: true })
    cpSync(join(root, "packages", "command", "package.json"), join(installed, "package.json"))
    symlinkSync(dirname(builtWire), join(installed, "dist"))
    symlinkSync(join(root, "node_modules", "standardwebhooks"), join(folder, "node_modules", "standardwebhooks"))
  })
  after(async () => {
    for (const { child } of running.values()) child.kill("SIGKILL")
    await demo.close()
  })

  /** What the page says, with the addresses of this test. */
  const local = (written: string): string =>
    written
      .replaceAll("https://api.openai.com/v1", demo.endpoint)
      .replaceAll('"gpt-5-mini"', '"demo"')
      .replaceAll("http://127.0.0.1:13703", running.get("service")?.address ?? "http://127.0.0.1:13703")
      .replaceAll("http://127.0.0.1:8080", running.get("receiver")?.address ?? "http://127.0.0.1:8080")
      .replaceAll("listen(8080,", "listen(0,")

  const save = async (file: string, body: string): Promise<void> => {
    const content = local(body)
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), content)
    const service = running.get("service")
    if (service === undefined || file !== "workflows/triage.wire") return
    const version = createHash("sha256").update(content).digest("hex").slice(0, 12)
    const served = async (): Promise<void> => {
      const answer = (await (await fetch(`${service.address}/workflows/triage`)).json()) as { version: string }
      if (answer.version !== version) return served()
    }
    await within(60_000, "the new version to be served", served())
  }

  const stop = async (kind: "service" | "receiver"): Promise<void> => {
    const before = running.get(kind)
    if (before === undefined) return
    const closed = new Promise((resolve) => before.child.once("close", resolve))
    before.child.kill("SIGTERM")
    await closed
  }

  const serve = async (kind: "service" | "receiver", command: string): Promise<void> => {
    await stop(kind)
    running.delete(kind)
    const child = spawn("bash", ["-c", local(command).replace(/(wire serve|node)/, "exec $1")], { cwd: folder, env })
    let output = ""
    const address = new Promise<string>((resolve, reject) => {
      const read = (chunk: Buffer): void => {
        output += chunk.toString()
        const found = /listens on (http:\S+)/.exec(output)?.[1]
        if (found !== undefined) resolve(found)
      }
      child.stdout.on("data", read)
      child.stderr.on("data", read)
      child.once("close", (code) => reject(new Error(`${command} ended with ${code}:\n${output}`)))
    })
    running.set(kind, { child, address: await within(60_000, command, address), output: () => output })
  }

  /** The commands of a fence, each with what it prints. */
  const run = async ({ body, line }: Part): Promise<void> => {
    for (const [, command = "", shown = ""] of body.matchAll(/^\$ ((?:.*\\\n)*.*\n)((?:(?!\$ ).*\n)*)/gm)) {
      if (/\bwire serve\b/.test(command)) await serve("service", command)
      else if (/\bnode receiver/.test(command)) await serve("receiver", command)
      else {
        const shell = spawn("bash", ["-c", local(command)], { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] })
        const closed = new Promise((resolve) => shell.once("close", resolve))
        const [out, err] = await Promise.all([text(shell.stdout), text(shell.stderr)])
        const pattern = shown
          .trimEnd()
          .split("…")
          .map((piece) => piece.replaceAll(/[\^$.*+?()[\]{}|]/g, "\\$&"))
        assert.match(
          out.trimEnd(),
          new RegExp(`^${pattern.join(".*")}$`),
          `docs/tutorial.md:${line} ${command}${out}${err}`,
        )
        assert.equal(await closed, shown.includes("error") ? 1 : 0, `docs/tutorial.md:${line} ${command}${err}`)
      }
    }
  }

  const receives = async (expected: string): Promise<void> => {
    const receiver = running.get("receiver")
    assert.ok(receiver !== undefined)
    const seen = new Promise<void>((resolve) => {
      const look = (): void => {
        if (receiver.output().includes(expected)) resolve()
      }
      receiver.child.stdout?.on("data", look)
      look()
    })
    await within(60_000, `the receiver to print ${expected}`, seen)
  }

  const sections = page.split(/^(?=## )/m)
  let line = (sections.shift() ?? "").split("\n").length
  for (const section of sections) {
    const parts = partsOf(section, line)
    line += section.split("\n").length - 1
    test(/^## (.*)/.exec(section)?.[1] ?? "", async () => {
      for (const part of parts) {
        if (part.file !== null) await save(part.file, part.body)
        else if (part.kind === "console") await run(part)
        else if (part.kind === "text") await receives(part.body)
        else assert.equal(part.kind, "sh", `docs/tutorial.md:${part.line} is neither saved nor run`)
      }
    })
  }

  test("the recording has no key, and the programs have the types that they say", async () => {
    const recording = readFileSync(join(folder, "workflows/triage.test.recording.json"), "utf8")
    assert.ok(!recording.includes("canary-key"))
    const compilerOptions = {
      module: "nodenext",
      target: "es2024",
      strict: true,
      noEmit: true,
      allowImportingTsExtensions: true,
      lib: ["es2024", "dom"],
      types: [],
    }
    writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }))
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts"] }))
    const tsc = spawn(join(root, "node_modules", ".bin", "tsc"), ["-p", folder, "--checkers", "1"])
    const closed = new Promise((resolve) => tsc.once("close", resolve))
    assert.equal(await text(tsc.stdout), "")
    assert.equal(await closed, 0)
  })

  test("there are nine steps", () => assert.equal(sections.length, 9))
})
