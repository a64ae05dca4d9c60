import { once } from "node:events"
import { connect, createServer } from "node:net"

export interface AnsweringProxy {
  readonly port: number
  close(): void
}

/** Between a client and PostgreSQL: `change` gets each message of the server, whose first byte is its kind, and gives what the client gets; null: nothing. */
export async function startAnsweringProxy(
  target: number,
  change: (message: Buffer) => Buffer | null,
): Promise<AnsweringProxy> {
  const server = createServer((near) => {
    const far = connect(target, "127.0.0.1")
    near.pipe(far)
    near.on("error", () => far.destroy()).on("close", () => far.destroy())
    far.on("error", () => near.destroy()).on("close", () => near.destroy())
    let rest: Buffer = Buffer.alloc(0)
    far.on("data", (chunk: Buffer) => {
      rest = Buffer.concat([rest, chunk])
      // The kind is not counted in a message's length.
      for (let size; rest.length >= 5 && rest.length >= (size = 1 + rest.readInt32BE(1)); rest = rest.subarray(size)) {
        const message = change(rest.subarray(0, size))
        if (message !== null) near.write(message)
      }
    })
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("The proxy has no port")
  return { port: address.port, close: () => void server.close() }
}
