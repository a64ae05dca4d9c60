import { createServer } from "node:net"

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
