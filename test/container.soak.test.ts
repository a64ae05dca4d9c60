import assert from "node:assert/strict"
import { execFileSync, spawn } from "node:child_process"
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { after, test } from "node:test"

const root = join(import.meta.dirname, "..")

interface Stage {
  readonly name: string
  readonly folder: string
  readonly environment: Record<string, string>
  command: string[]
  health: string
}

/** Takes the steps of the Dockerfile outside of a container: each stage's root is a folder, and `chown` is left out. */
function buildStages(context: string, work: string): Stage {
  const text = readFileSync(join(root, "Dockerfile"), "utf8")
  const stages: Stage[] = []
  const inside = (stage: Stage, path: string): string =>
    join(stage.folder, path.startsWith("/") ? path : join("app", path))
  for (const line of text.split("\n")) {
    const [word = "", ...rest] = line.split(" ")
    const words = rest.filter((part) => part !== "")
    const stage = stages.at(-1)
    if (word === "ARG") {
      assert.match(rest.join(" "), /^NODE_IMAGE=node:24/)
    } else if (word === "FROM") {
      assert.equal(words[0], "$NODE_IMAGE")
      const folder = join(work, `stage-${stages.length}`)
      mkdirSync(join(folder, "app"), { recursive: true })
      stages.push({ name: words[2] ?? "", folder, environment: {}, command: [], health: "" })
    } else if (stage === undefined) {
      continue
    } else if (word === "COPY") {
      const [from] = words
      const other =
        from?.startsWith("--from=") === true ? stages.find(({ name }) => `--from=${name}` === from) : undefined
      const paths = from?.startsWith("--from=") === true ? words.slice(1) : words
      const target = inside(stage, paths.at(-1) ?? "")
      for (const path of paths.slice(0, -1)) {
        const source = other === undefined ? join(context, path) : inside(other, path)
        const isFolder = path === "." || !/\.\w+$|\.npmrc$/.test(path)
        const to = isFolder ? target : join(target, path.split("/").at(-1) ?? "")
        mkdirSync(dirname(to), { recursive: true })
        cpSync(source, to, { recursive: true })
      }
    } else if (word === "RUN") {
      if (rest[0] === "npm" && rest[1] === "ci") {
        install(join(stage.folder, "app"), rest.slice(2))
        continue
      }
      const script = rest
        .join(" ")
        .replaceAll("/data", join(stage.folder, "data"))
        .replace(/ && chown .*$/, "")
      execFileSync("sh", ["-c", script], { cwd: join(stage.folder, "app"), stdio: "pipe" })
    } else if (word === "ENV") {
      for (const pair of words) {
        const [name = "", value = ""] = pair.split("=")
        stage.environment[name] = value
      }
    } else if (word === "CMD") {
      stage.command = JSON.parse(rest.join(" ")) as string[]
    } else if (word === "HEALTHCHECK") {
      stage.health = line.slice(line.indexOf("CMD ") + 4)
    }
  }
  const last = stages.at(-1)
  assert.ok(last !== undefined)
  return last
}

/**
 * `npm ci` without unpacking half a gigabyte once more: npm lists what it would install there. Just that is linked to what it has
 * installed here.
 */
function install(folder: string, flags: readonly string[]): void {
  const said = execFileSync("npm", ["ci", ...flags, "--dry-run", "--offline"], {
    cwd: folder,
    encoding: "utf8",
    stdio: "pipe",
  })
  const wanted = new Set([...said.matchAll(/^add (\S+ \S+)$/gm)].map(([, found = ""]) => found))
  const { packages } = JSON.parse(readFileSync(join(root, "node_modules", ".package-lock.json"), "utf8")) as {
    packages: Record<string, { name?: string; version?: string; link?: true }>
  }
  const installed = new Map(
    Object.entries(packages)
      .filter(([, { link }]) => link !== true)
      .map(([path, { name, version }]) => [path, `${name ?? path.split("node_modules/").at(-1)} ${version}`]),
  )
  const here = new Set(installed.values())
  assert.deepEqual(
    [...wanted].filter((what) => !here.has(what)),
    [],
  )
  const others = [...installed].filter(([, what]) => !wanted.has(what)).map(([path]) => join(root, path))
  linkFolder(join(root, "node_modules"), join(folder, "node_modules"), new Set(others))
}

function linkFolder(from: string, to: string, others: ReadonlySet<string>): void {
  mkdirSync(to)
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (others.has(source)) continue
    if (entry.isDirectory()) linkFolder(source, target, others)
    else if (entry.isSymbolicLink()) symlinkSync(readlinkSync(source), target)
    else {
      try {
        linkSync(source, target)
      } catch {
        // On another file system, for example.
        copyFileSync(source, target)
      }
    }
  }
}

test("the Dockerfile's steps make a service that starts and is healthy", { timeout: 600_000 }, async () => {
  const work = mkdtempSync(join(tmpdir(), "wireworks-image-"))
  after(() => rmSync(work, { recursive: true, force: true }))
  const context = join(work, "context")
  const ignored = new Set(readFileSync(join(root, ".dockerignore"), "utf8").split("\n"))
  const files = execFileSync("git", ["ls-files"], { cwd: root, encoding: "utf8" }).trim().split("\n")
  for (const file of files) {
    if (ignored.has(file.split("/")[0] ?? "") || !existsSync(join(root, file))) continue
    mkdirSync(dirname(join(context, file)), { recursive: true })
    cpSync(join(root, file), join(context, file))
  }
  const image = buildStages(context, work)
  assert.equal(existsSync(join(image.folder, "app", "node_modules")), false)
  const data = join(image.folder, "data")
  chmodSync(data, 0o700)
  const port = String(20_000 + (process.pid % 20_000))
  const environment = {
    PATH: process.env["PATH"] ?? "",
    ...image.environment,
    WIRE_PORT: port,
    WIRE_DATA_DIR: data,
    WIRE_HOST: "127.0.0.1",
  }
  const [, ...args] = image.command
  const service = spawn(process.execPath, args, {
    cwd: join(image.folder, "app"),
    env: environment,
    stdio: ["ignore", "pipe", "pipe"],
  })
  after(() => service.kill("SIGKILL"))
  let printed = ""
  service.stderr.on("data", (chunk: Buffer) => (printed += chunk.toString()))
  await new Promise<void>((resolve, reject) => {
    service.stdout.on("data", (chunk: Buffer) => {
      printed += chunk.toString()
      if (printed.includes("listens on")) resolve()
    })
    service.once("exit", (code) => reject(new Error(`It ended with ${code}: ${printed}`)))
  })
  const check = image.health.replace(/^node /, `"${process.execPath}" `)
  execFileSync("sh", ["-c", check], { env: environment, stdio: "pipe" })
  assert.equal((await fetch(`http://127.0.0.1:${port}/playground`)).status, 200)
  const ended = new Promise((resolve) => service.once("exit", resolve))
  service.kill("SIGTERM")
  assert.equal(await ended, 0)
})
