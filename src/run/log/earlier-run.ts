import { hash } from "node:crypto"
import { canonicalJson } from "../../base/canonical-json.ts"
import type { JsonValue } from "../../base/json-value.ts"
import type { Message } from "../../ports/messages.ts"
import type { RunStore } from "../../ports/store.ts"
import { NoSuchRun } from "../../ports/store.ts"
import type { PromptMessage } from "../../ports/tools.ts"
import type { EventType, LogEvent } from "../../ports/events.ts"
import type { Kept, KeptEffect } from "./kept.ts"
import { readMessages } from "./stored-messages.ts"

/** A step of an earlier run that a re-run may take over: what it gave, by the hash of its facts. */
export interface EarlierStep {
  readonly iteration: number | null
  readonly output: JsonValue
  /** Null where it was not kept. */
  readonly history: readonly Message[] | null
}

/** A `call`, `read` or `render` of the workflow's own. */
export interface EarlierEffect {
  readonly iteration: number | null
  readonly outcome: KeptEffect
}

/**
 * What an earlier run leaves to a re-run. Items of a loop are found by their facts, whatever their position: each is given
 * once, the one of the same position first.
 */
export class EarlierRun {
  readonly run_id: string
  readonly #forced: ReadonlySet<string>
  readonly #steps = new Map<string, EarlierStep[]>()
  readonly #effects = new Map<string, EarlierEffect[]>()

  constructor(run_id: string, from: readonly string[]) {
    this.run_id = run_id
    this.#forced = new Set(from)
  }

  /** Whether one of these must run, whatever its facts. */
  #isForced(...ids: readonly string[]): boolean {
    return ids.some((id) => this.#forced.has(id))
  }

  addStep(step: string, facts: string, found: EarlierStep): void {
    add(this.#steps, `${step} ${facts}`, found)
  }

  addEffect(site: string, facts: string, found: EarlierEffect): void {
    add(this.#effects, `${site} ${facts}`, found)
  }

  /** `needed`: the step is of use only with its history. */
  takeStep(step: string, iteration: number | null, facts: string, needed: boolean): EarlierStep | undefined {
    if (this.#isForced(step)) return undefined
    return take(this.#steps.get(`${step} ${facts}`), iteration, ({ history }) => !needed || history !== null)
  }

  /** `step` is `tool.name` and its like, `path` where it is called from. */
  takeEffect(
    step: string,
    path: string,
    site: string,
    iteration: number | null,
    facts: string,
  ): EarlierEffect | undefined {
    const place = path.startsWith("dynamic.") ? path : step
    if (this.#isForced(step, place)) return undefined
    return take(this.#effects.get(`${site} ${facts}`), iteration, () => true)
  }
}

function add<T>(table: Map<string, T[]>, key: string, item: T): void {
  const before = table.get(key)
  if (before === undefined) table.set(key, [item])
  else before.push(item)
}

function take<T extends { readonly iteration: number | null }>(
  items: T[] | undefined,
  iteration: number | null,
  fits: (item: T) => boolean,
): T | undefined {
  if (items === undefined) return undefined
  const same = items.findIndex((item) => item.iteration === iteration && fits(item))
  const at = same >= 0 ? same : items.findIndex(fits)
  return at < 0 ? undefined : items.splice(at, 1)[0]
}

/** The hash of what decides the outcome of a call, read or render. */
export function effectFacts(facts: JsonValue): string {
  return hash("sha256", canonicalJson([1, facts]), "hex").slice(0, 32)
}

/** The hash of what decides a person's answer. */
export function questionFacts(question: string, schema: JsonValue): string {
  return effectFacts([question, schema])
}

/** Reads the log of a run that has ended. One that retention has deleted since leaves nothing. */
export async function readEarlier(store: RunStore, run_id: string, from: readonly string[]): Promise<EarlierRun> {
  const earlier = new EarlierRun(run_id, from)
  const reader = new EarlierReader(earlier)
  for (let last = 0; ;) {
    let page: LogEvent[]
    try {
      page = await store.read(run_id, last, 500, "kept")
    } catch (error) {
      if (error instanceof NoSuchRun) return earlier
      throw error
    }
    if (page.length === 0) return earlier
    for (const event of page) {
      reader.take(event)
      last = event.id
    }
  }
}

class EarlierReader {
  readonly #earlier: EarlierRun
  /** Calls that have no outcome yet, by their ids. */
  readonly #open = new Map<
    string,
    { readonly site: string; readonly facts: string; readonly iteration: number | null }
  >()

  readonly #questions = new Map<
    string,
    { readonly step: string; readonly iteration: number | null; readonly facts: string }
  >()

  constructor(earlier: EarlierRun) {
    this.#earlier = earlier
  }

  take(event: LogEvent): void {
    switch (event.type) {
      case "agent_completed": {
        const { agent, iteration = null, output } = event.data
        const more = kept<"agent_completed">(event)
        if (more?.facts === undefined) return
        const history = more.history === undefined ? null : readMessages(more.history)
        this.#earlier.addStep(`agent.${agent}`, more.facts, { iteration, output: more.output ?? output, history })
        return
      }
      case "step_reused": {
        const { step, iteration = null, output } = event.data
        const more = kept<"step_reused">(event)
        if (more === undefined) return
        if ("site" in more) this.#earlier.addEffect(more.site, more.facts, { iteration, outcome: more.outcome })
        else {
          const history = more.history === undefined ? null : readMessages(more.history)
          this.#earlier.addStep(step, more.facts, { iteration, output: more.output ?? output, history })
        }
        return
      }
      case "question_asked": {
        const { id, kind, name, iteration = null, question, schema } = event.data
        if (kind !== "ask") return
        this.#questions.set(id, { step: `ask.${name}`, iteration, facts: questionFacts(question, schema) })
        return
      }
      case "question_answered": {
        const asked = this.#questions.get(event.data.id)
        if (asked === undefined) return
        const { step, iteration, facts } = asked
        this.#earlier.addStep(step, facts, { iteration, output: event.data.answer, history: null })
        return
      }
      case "tool_call_started": {
        const more = kept<"tool_call_started">(event)
        if (more === undefined || !("site" in more) || more.facts === undefined) return
        const { call_id, iteration = null } = event.data
        this.#open.set(call_id, { site: more.site, facts: more.facts, iteration })
        return
      }
      case "tool_call_completed": {
        const open = this.#open.get(event.data.call_id)
        if (open === undefined) return
        const value = kept<"tool_call_completed">(event)?.result ?? event.data.result
        this.#earlier.addEffect(open.site, open.facts, {
          iteration: open.iteration,
          outcome: { kind: "call", value },
        })
        return
      }
      case "resource_read": {
        const more = kept<"resource_read">(event)
        if (more?.facts === undefined) return
        const { site, iteration } = placeOf(more.site)
        this.#earlier.addEffect(site, more.facts, { iteration, outcome: { kind: "read", value: more.value } })
        return
      }
      case "prompt_rendered": {
        const more = kept<"prompt_rendered">(event)
        if (more?.facts === undefined) return
        const { site, iteration } = placeOf(more.site)
        const messages: readonly PromptMessage[] = more.messages
        this.#earlier.addEffect(site, more.facts, { iteration, outcome: { kind: "render", messages } })
        return
      }
      default:
        return
    }
  }
}

/** The parts of a `placeKey`. */
function placeOf(key: string): { readonly site: string; readonly iteration: number | null } {
  const [, site = key, iteration] = /^(.*)#(\d+)$/s.exec(key) ?? []
  return { site, iteration: iteration === undefined ? null : Number(iteration) }
}

function kept<T extends EventType>(event: { readonly kept?: JsonValue }): Kept<T> | undefined {
  return event.kept as Kept<T> | undefined
}
