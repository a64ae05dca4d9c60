import type { ServerLog } from "../../server/route-dependencies.ts"
import { warningOfFiles } from "./open-files.ts"
import type { Settings } from "./settings.ts"

/** Shorter keys can be guessed. */
const shortestKey = 16

/** Lines for settings that are allowed, and probably not what the operator wants. Keys are named, never shown. */
export function warnOfSettings(settings: Settings, log: ServerLog): void {
  const { apiKeys = [], operatorKeys = [], metricsKey, groups } = settings
  const keys = [
    ...apiKeys.map(({ name, key }) => ({ setting: "WIRE_API_KEYS", name, key })),
    ...operatorKeys.map(({ name, key }) => ({ setting: "WIRE_OPERATOR_KEYS", name, key })),
    ...(metricsKey === undefined ? [] : [{ setting: "WIRE_METRICS_KEY", name: "metrics", key: metricsKey }]),
  ]
  for (const { setting, name, key } of keys) {
    if (key.length >= shortestKey) continue
    log.warn(
      { setting, name },
      `a key has fewer than ${shortestKey} characters: make a longer one (openssl rand -hex 32)`,
    )
  }
  if (settings.traceContent === "all") {
    log.warn(
      { setting: "WIRE_TRACE_CONTENT" },
      "traces hold all texts and values of runs, private ones too; only secrets are replaced",
    )
  }
  const ofFiles = warningOfFiles(settings)
  if (ofFiles !== null) log.warn({ setting: "WIRE_FILES" }, ofFiles)
  const callers = new Set(apiKeys.map(({ name }) => name))
  for (const { name: group, members } of groups) {
    for (const name of members) {
      if (callers.has(name)) continue
      log.warn({ group, name }, "WIRE_GROUPS has a name that is not in WIRE_API_KEYS: nobody answers under it")
    }
  }
}
