import { natsServers, startNats } from "../support/nats-server.ts"
import { checkTwoReplicas } from "../support/two-replicas.ts"

for (const server of natsServers()) {
  checkTwoReplicas(`nats-server ${server.version}`, async () => {
    const broker = await startNats(1, "", server)
    const [node] = broker.nodes
    if (node === undefined) throw new Error("No node was started")
    return {
      port: node.port,
      url: (port) => `nats://127.0.0.1:${port}`,
      kill: () => node.kill(),
      start: () => node.start(),
      close: () => broker.close(),
    }
  })
}
