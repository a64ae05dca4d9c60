import { createServer } from "../server/create-server.ts"
import type { Settings } from "./settings.ts"

/** The service as a whole, with a life: it listens, and it stops. */
export interface Service {
  /** Resolves to the address once connections are accepted. */
  listen(): Promise<string>
  /** Takes no more work, waits for what is under way at most this long, then closes everything. */
  stop(grace_ms: number): Promise<void>
}

/** Joins ports to adapters as the settings say: the only file that knows both. */
export async function compose(settings: Settings): Promise<Service> {
  const { app, drain } = createServer({ maxBody: settings.maxBody })
  await app.ready()
  return {
    listen: () => app.listen({ host: settings.host, port: settings.port, backlog: 4096 }),
    async stop() {
      drain()
      await app.close()
    },
  }
}
