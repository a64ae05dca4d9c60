import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { effectFacts } from "../log/earlier-run.ts"
import type { KeptEffect } from "../log/kept.ts"
import { shown } from "../log/log.ts"
import { shownPrompt } from "../log/shown-messages.ts"
import type { RunContext } from "../run-context.ts"
import { namedServer } from "./server-of.ts"

/** A call, read or render of the workflow's own that is about to be made. */
export interface EffectAt {
  /** `tool.name`, `resource.name` or `prompt.name`. */
  readonly step: string
  /** Where it is made from: `dynamic.related`. */
  readonly path: string
  readonly site: string
  readonly iteration: number | null
  readonly facts: string
}

/** The hash of what decides an effect: its name, its server, and its arguments with secrets by name. */
export function factsOfEffect(
  running: RunContext,
  remote: { readonly server: string; readonly remote: string } | undefined,
  values: JsonObject,
): string {
  const server = remote === undefined ? null : namedServer(running, remote.server)
  return effectFacts([remote?.remote ?? null, server, values])
}

/** The outcome that an earlier run leaves to this effect, which is then not made; undefined where it must be. */
export function reusedEffect(running: RunContext, at: EffectAt): KeptEffect | undefined {
  const { step, path, site, iteration, facts } = at
  const { earlier, log } = running
  if (earlier === null) return undefined
  const found = earlier.takeEffect(step, path, site, iteration, facts)
  if (found === undefined) return undefined
  const { outcome } = found
  const output: JsonValue =
    outcome.kind === "render" ? outcome.messages.map(({ text }) => text).join("\n\n") : outcome.value
  const place = iteration === null ? {} : { iteration }
  const messages = outcome.kind === "render" ? { messages: shownPrompt(outcome.messages) } : {}
  const data = { step, ...place, output: shown(output), run_id: earlier.run_id, site, ...messages }
  log.add("step_reused", data, { facts, site, outcome })
  return outcome
}
