import { spawn, type ChildProcess } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { connect, createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { within } from "./within.ts"
import { findNatsServers, type NatsServer } from "../../scripts/nats-servers.mjs"

// Real brokers on loopback, each with a folder of its own.

/** The releases of the broker to test on: the oldest that we take, and the newest that is here. */
export function natsServers(): readonly [NatsServer, ...NatsServer[]] {
  const [first, ...rest] = findNatsServers()
  if (first === undefined) throw new Error("There is no nats-server that is new enough: `npm test -- cluster` gets one")
  return [first, ...rest]
}

export interface NatsNode {
  readonly name: string
  readonly port: number
  /** The address where it reports the state of its streams, over HTTP. */
  readonly monitor: string
  /** The end of what it wrote to its log. */
  readonly output: string
  /** Starts it, or starts it again with what it has stored; resolves when it takes connections. */
  start(): Promise<void>
  kill(signal?: NodeJS.Signals): Promise<void>
  /** Stands still until it is resumed. */
  pause(): void
  resume(): void
}

export interface NatsCluster {
  readonly nodes: readonly NatsNode[]
  readonly url: string
  close(): Promise<void>
}

/** Below the ports that systems give to outgoing connections and to servers that take any: those may be taken at any moment. */
const lowestPort = 15_000
const highestPort = 31_999
let lastPort = lowestPort + ((process.pid * 61) % (highestPort - lowestPort))

export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = []
  while (ports.length < count) {
    lastPort = lastPort === highestPort ? lowestPort : lastPort + 1
    if (await isFree(lastPort)) ports.push(lastPort)
  }
  return ports
}

function isFree(port: number): Promise<boolean> {
  const server = createServer()
  return new Promise((resolve) => {
    server.once("error", () => resolve(false))
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)))
  })
}

/** One node is a broker by itself; three are a cluster. */
export async function startNats(
  count: 1 | 3,
  config = "",
  server: NatsServer = natsServers()[0],
): Promise<NatsCluster> {
  for (let attempt = 1; ; attempt++) {
    const cluster = await startOnce(count, config, server)
    if (count === 1) return cluster
    try {
      await within(30_000, "a cluster that is whole", Promise.all(cluster.nodes.map((one) => knowsAll(one, count))))
      return cluster
    } catch (error) {
      // Another process may have taken the port since.
      const said = cluster.nodes.map(({ name, output }) => `${name}:\n${output}`).join("\n")
      await cluster.close()
      if (attempt === 3) throw new Error(`${String(error)}\n${said}`, { cause: error })
    }
  }
}

async function startOnce(count: 1 | 3, config: string, server: NatsServer): Promise<NatsCluster> {
  const folder = mkdtempSync(join(tmpdir(), "wireworks-nats-"))
  const ports = await freePorts(count * 3)
  const routes = ports.slice(count, count * 2).map((port) => `nats://127.0.0.1:${port}`)
  const nodes = Array.from({ length: count }, (_, index) => {
    const name = `node-${index + 1}`
    const cluster =
      count === 1
        ? ""
        : `cluster { name: test, listen: "127.0.0.1:${ports[count + index]}", routes: [${routes.map((route) => `"${route}"`).join(", ")}] }`
    const file = join(folder, `${name}.conf`)
    const store = `jetstream { store_dir: "${join(folder, name)}" }`
    writeFileSync(
      file,
      `server_name: ${name}\nlisten: "127.0.0.1:${ports[index]}"\nhttp: "127.0.0.1:${ports[count * 2 + index]}"\n${store}\n${cluster}\n${config.replaceAll("$FOLDER", folder)}\n`,
    )
    return node(server.path, name, ports[index] ?? 0, ports[count * 2 + index] ?? 0, file)
  })
  await Promise.all(nodes.map((one) => one.start()))
  return {
    nodes,
    url: `nats://${nodes.map(({ port }) => `127.0.0.1:${port}`).join(",")}`,
    async close() {
      await Promise.all(nodes.map((one) => one.kill()))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Until a node knows a leader, and as many nodes as there are. */
async function knowsAll({ monitor }: NatsNode, count: number): Promise<void> {
  for (;;) {
    const response = await fetch(`${monitor}/jsz`).catch(() => null)
    const { meta_cluster: meta } = ((await response?.json()) ?? {}) as {
      meta_cluster?: { leader?: string; cluster_size?: number }
    }
    if ((meta?.leader ?? "") !== "" && meta?.cluster_size === count) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

function node(server: string, name: string, port: number, monitor: number, file: string): NatsNode {
  let child: ChildProcess | null = null
  let output = ""
  return {
    name,
    port,
    monitor: `http://127.0.0.1:${monitor}`,
    get output() {
      return output
    },
    async start() {
      const started = spawn(server, ["-c", file], { stdio: ["ignore", "ignore", "pipe"] })
      child = started
      started.stderr.setEncoding("utf8").on("data", (text: string) => (output = (output + text).slice(-4_000)))
      const deadline = performance.now() + 60_000
      while (!(await accepts(port))) {
        if (started.exitCode !== null && !started.stderr.closed) await once(started.stderr, "close")
        if (started.exitCode !== null || performance.now() > deadline)
          throw new Error(`${name} does not start:\n${output}`)
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    },
    async kill(signal = "SIGKILL") {
      const running = child
      child = null
      if (running === null || running.exitCode !== null || running.signalCode !== null) return
      const gone = once(running, "exit")
      running.kill(signal)
      await gone
    },
    pause: () => void child?.kill("SIGSTOP"),
    resume: () => void child?.kill("SIGCONT"),
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1")
    const say = (outcome: boolean) => () => {
      socket.destroy()
      resolve(outcome)
    }
    socket.once("connect", say(true)).once("error", say(false))
  })
}
