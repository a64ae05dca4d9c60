import { isLoopback } from "./is-loopback.ts"
import type { Settings } from "./settings.ts"

/** Most runs at a time of one caller. Where several callers use the service, none of them takes more than half of it unless the settings say so. */
export function runsPerCaller({ maxRunsPerCaller, apiKeys = [], host, maxRuns }: Settings): number {
  if (maxRunsPerCaller !== undefined) return maxRunsPerCaller
  const names = new Set(apiKeys.map(({ name }) => name))
  const several = names.size > 1 || (names.size === 0 && !isLoopback(host))
  return several ? Math.ceil(maxRuns / 2) : maxRuns
}
