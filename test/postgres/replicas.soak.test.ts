import { startPostgres } from "../support/postgres-server.ts"
import { checkTwoReplicas } from "../support/two-replicas.ts"

checkTwoReplicas("PostgreSQL", async () => {
  // Processes are killed, the machine is not: what they wrote is with the kernel.
  const server = await startPostgres({ config: ["fsync=off"] })
  return {
    port: server.port,
    url: (port) => server.url().replace(`:${server.port}/`, `:${port}/`),
    kill: () => server.kill(),
    start: () => server.start(),
    close: () => server.close(),
  }
})
