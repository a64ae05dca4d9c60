import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { after, describe, it } from "node:test"
import { setTimeout as wait } from "node:timers/promises"
import { freePorts, natsServers } from "../support/nats-server.ts"

// The brokers of the deployment files, started as those files say, with loopback addresses in place of the containers'.

const root = dirname(dirname(import.meta.dirname))
const read = (path: string): string => readFileSync(join(root, path), "utf8")
const kubernetes = read("deploy/kubernetes/nats.yaml")

interface Deployment {
  readonly name: string
  readonly config: string
  /** The value of NATS_ROUTES, in which the password stands as `reference`. */
  readonly routes: string
  readonly reference: string
  readonly hosts: readonly string[]
}

const deployments: readonly Deployment[] = [
  {
    name: "compose.cluster.yaml",
    config: read("deploy/cluster/nats.conf"),
    routes: /^ +NATS_ROUTES: "(.*)"$/m.exec(read("compose.cluster.yaml"))?.[1] ?? "",
    reference: "${NATS_ROUTES_PASSWORD}",
    hosts: ["nats-1", "nats-2", "nats-3"],
  },
  {
    name: "deploy/kubernetes/nats.yaml",
    config: /^ {2}nats\.conf: \|\n((?: {4}.*\n)+)/m.exec(kubernetes)?.[1] ?? "",
    routes: /NATS_ROUTES\n +value: "(.*)"$/m.exec(kubernetes)?.[1] ?? "",
    reference: "$(NATS_ROUTES_PASSWORD)",
    hosts: [0, 1, 2].map((n) => `wireworks-nats-${n}.wireworks-nats`),
  },
]

const [server] = natsServers()
const password = "p0123456789abcdef"

for (const { name, config, routes, reference, hosts } of deployments) {
  describe(name, async () => {
    const folder = mkdtempSync(join(tmpdir(), "wireworks-deploy-"))
    const children: ChildProcess[] = []
    const output: string[] = []
    after(async () => {
      for (const child of children) {
        const gone = once(child, "exit")
        if (child.exitCode === null && child.kill("SIGKILL")) await gone
      }
      rmSync(folder, { recursive: true, force: true })
    })
    const clients = await freePorts(4)
    const monitors = await freePorts(4)
    const clusters = await freePorts(4)
    const start = (at: number, routesPassword: string): void => {
      const file = join(folder, `${at}.conf`)
      const text = config
        .replace("0.0.0.0:4222", `127.0.0.1:${clients[at]}`)
        .replace(/(?:0\.0\.0\.0|127\.0\.0\.1):8222/, `127.0.0.1:${monitors[at]}`)
        .replace("0.0.0.0:6222", `127.0.0.1:${clusters[at]}`)
        .replace("/data", join(folder, `data-${at}`))
      writeFileSync(file, text)
      let named = routes.replaceAll(reference, routesPassword)
      for (const [index, host] of hosts.entries()) named = named.replace(`${host}:6222`, `127.0.0.1:${clusters[index]}`)
      const env = {
        PATH: process.env["PATH"] ?? "",
        NATS_NAME: `node-${at}`,
        POD_NAME: `node-${at}`,
        NATS_PASSWORD: "p-of-clients",
        NATS_ROUTES_PASSWORD: routesPassword,
        NATS_ROUTES: named,
      }
      const child = spawn(server.path, ["-c", file], { env, stdio: ["ignore", "ignore", "pipe"] })
      child.stderr.setEncoding("utf8").on("data", (text: string) => (output[at] = (output[at] ?? "") + text))
      children.push(child)
    }
    /** The other brokers that the broker is joined to. */
    const peers = async (at: number): Promise<string[]> => {
      const answer = await fetch(`http://127.0.0.1:${monitors[at]}/routez`).catch(() => null)
      if (answer === null) return []
      const { routes: open = [] } = (await answer.json()) as { routes?: { remote_name?: string }[] }
      return [...new Set(open.map(({ remote_name }) => remote_name ?? ""))]
    }
    const until = async (what: string, isSo: () => Promise<boolean>): Promise<void> => {
      const deadline = performance.now() + 30_000
      while (!(await isSo())) {
        if (performance.now() > deadline) throw new Error(`${what} did not come:\n${output.join("\n")}`)
        await wait(50)
      }
    }

    it("three brokers join each other with the password of their routes", async () => {
      for (const at of [0, 1, 2]) start(at, password)
      for (const at of [0, 1, 2]) await until(`broker ${at}`, async () => (await peers(at)).length === 2)
    })

    it("one with another password does not get in", async () => {
      start(3, "p-wrong")
      // Each side says so, once the attempt has been made.
      await until("the refusal", () => Promise.resolve(/authentication error/i.test(output[0] ?? "")))
      for (const at of [0, 1, 2]) assert.ok(!(await peers(at)).includes("node-3"))
    })
  })
}
