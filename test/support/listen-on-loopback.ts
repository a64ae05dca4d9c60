// Preloaded into a server that we did not write: it listens on the loopback address only, and says on which port.

import type { AddressInfo } from "node:net"
import { Server } from "node:net"

const { listen } = Server.prototype as unknown as { listen: (this: Server, ...args: unknown[]) => Server }

Object.assign(Server.prototype, {
  listen(this: Server, port: unknown, ...rest: unknown[]): Server {
    this.once("listening", () => {
      process.stderr.write(`Bound to port ${(this.address() as AddressInfo).port}.\n`)
    })
    const listeners = rest.filter((one) => typeof one === "function")
    return listen.call(this, { port: Number(port), host: "127.0.0.1" }, ...listeners)
  },
})
