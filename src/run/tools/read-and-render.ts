import type { JsonObject } from "../../base/json-value.ts"
import type { EffectPlace } from "../../log/earlier-run.ts"
import type { PromptMessage } from "../../log/messages.ts"
import { RunFailure } from "../../ports/run-failure.ts"
import type { ResourceAnswer } from "../../ports/tools.ts"
import { failureAt } from "../context/failure.ts"
import { callStored, type RunContext } from "../context/run-context.ts"
import { shownPrompt } from "../log/shown-messages.ts"
import type { Place } from "../shares/permits.ts"
import type { Bound } from "./bind.ts"
import { atCaller } from "./call-tool.ts"
import { countedCall } from "./counted-call.ts"
import { effectKey, eventPlace, factsOfEffect, replayedEffect, reusedEffect } from "./reuse-effect.ts"

// What a run reads from MCP servers without changing anything there: resources and prompts.

export interface PromptToRender {
  readonly name: string
  readonly at: EffectPlace
  /** Where it is rendered: `agent.review`. */
  readonly path: string
}

/** Renders a prompt once in the life of the run. `bound`: its arguments, which are evaluated where they are needed. */
export async function renderPrompt(
  running: RunContext,
  { name, at, path }: PromptToRender,
  bound: () => Promise<Bound>,
): Promise<readonly PromptMessage[]> {
  const past = replayedEffect(running, at)
  if (past?.kind === "render") return past.messages
  const { host } = running
  if (host === null) throw new Error(`Prompt ${name} was not looked up at the start of the run`)
  const { values, shown: shownValues } = await bound()
  const facts = factsOfEffect(running, running.plan.prompts[name], shownValues)
  const place = { step: `prompt.${name}`, path, ...at, facts }
  const reused = running.earlier === null ? undefined : await reusedEffect(running, place)
  if (reused?.kind === "render") return reused.messages
  const startedAt = running.ports.clock.now()
  const ask = (): Promise<readonly PromptMessage[]> => host.render(name, values, running.signal)
  const messages = await fromServer(running, path, ask, { counted: null })
  running.log.add(
    "prompt_rendered",
    {
      name,
      server: running.plan.prompts[name]?.server ?? "",
      ...eventPlace(at),
      messages: shownPrompt(messages),
      duration_ms: running.ports.clock.now() - startedAt,
    },
    { site: effectKey(at), messages, facts },
  )
  return messages
}

export interface ResourceToRead {
  readonly name: string
  readonly values: JsonObject
  readonly path: string
}

interface ServerCall {
  /** The agent that the call counts for, if any; null for a call that was counted before. */
  readonly counted: { readonly agent: string | undefined } | null
  /** Runs when the place is there, before the server is asked. */
  readonly begins?: () => void
  /** One that the caller holds. */
  readonly place?: Place | undefined
}

export async function readResource(
  running: RunContext,
  { name, values, path }: ResourceToRead,
  call: ServerCall,
): Promise<ResourceAnswer> {
  const { host } = running
  if (host === null) throw new Error(`Resource ${name} was not looked up at the start of the run`)
  return fromServer(running, path, () => host.read(name, values, running.signal), call)
}

/** Reading and rendering change nothing, so a transport failure is met with one more try. */
async function fromServer<T>(
  running: RunContext,
  path: string,
  ask: () => Promise<T>,
  { counted, begins, place }: ServerCall,
): Promise<T> {
  const { redactor, signal } = running
  const askOnce = async (): Promise<T> => {
    try {
      return await ask()
    } catch (error) {
      throw error instanceof RunFailure ? atCaller(error.error, path) : error
    }
  }
  const askTwice = async (): Promise<T> => {
    try {
      return await askOnce()
    } catch (error) {
      if (signal.aborted || !(error instanceof RunFailure) || error.error.kind !== "tool_error") throw error
      return askOnce()
    }
  }
  try {
    const begin = (): Promise<T> => {
      begins?.()
      return callStored(running, askTwice)
    }
    const call = (): Promise<T> => (counted === null ? begin() : countedCall(running, counted.agent, begin))
    const answer = await running.permits.use(call, place)
    return redactor.redact(answer)
  } catch (error) {
    if (!(error instanceof RunFailure)) throw error
    throw failureAt(path, new RunFailure(redactor.redact(error.error)))
  }
}
