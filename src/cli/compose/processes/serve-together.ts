import cluster from "node:cluster"
import type { Settings } from "../settings.ts"
import { ProcessLink } from "./link.ts"

/** Serves with several processes: the parent starts the others, and each of those serves by `serveHere`. Resolves to the exit code. */
export async function serveTogether(
  settings: Settings,
  serveHere: (settings: Settings, link: ProcessLink) => Promise<number>,
): Promise<number> {
  if (cluster.isPrimary) {
    const { superviseProcesses } = await import("./supervise-processes.ts")
    return superviseProcesses(settings)
  }
  const link = new ProcessLink(settings.processes)
  try {
    return await serveHere(settings, link)
  } finally {
    link.leave()
  }
}
