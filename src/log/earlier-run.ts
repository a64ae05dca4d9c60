import { hash } from "node:crypto"
import { canonicalJson } from "../base/canonical-json.ts"
import type { JsonValue } from "../base/json-value.ts"
import type { Message } from "./messages.ts"
import type { KeptEffect } from "./kept.ts"
import { placeKey, placeOf, type EffectPast, type ReplayState, type StepOutcome } from "./past.ts"

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

  constructor(run_id: string, from: readonly string[], past: ReplayState) {
    this.run_id = run_id
    this.#forced = new Set(from)
    for (const [key, { completed }] of past.agents) {
      if (completed !== null) this.#addStep(`agent.${key}`, completed)
    }
    for (const [key, reused] of past.reusedAnswers) this.#addStep(key, reused)
    for (const { asked, outcome } of past.questions.values()) {
      if (asked.kind !== "ask" || outcome?.kind !== "answered") continue
      const facts = questionFacts(asked.question, asked.schema)
      const key = placeKey(`ask.${asked.name}`, asked.iteration)
      this.#addStep(key, { output: outcome.answer, history: null, facts })
    }
    for (const [key, effect] of past.effects) {
      const outcome = outcomeOf(effect)
      if (effect.facts === undefined || outcome === null) continue
      const { name, iteration } = placeOf(key)
      add(this.#effects, `${name} ${effect.facts}`, { iteration, outcome })
    }
  }

  #addStep(key: string, { facts, output, history }: StepOutcome): void {
    if (facts === undefined) return
    const { name, iteration } = placeOf(key)
    add(this.#steps, `${name} ${facts}`, { iteration, output, history })
  }

  /** Whether one of these must run, whatever its facts. */
  #isForced(...ids: readonly string[]): boolean {
    return ids.some((id) => this.#forced.has(id))
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

function outcomeOf(effect: EffectPast): KeptEffect | null {
  switch (effect.kind) {
    case "call": {
      const { outcome } = effect.call
      return outcome?.kind === "completed" ? { kind: "call", value: outcome.result } : null
    }
    case "read":
      return { kind: "read", value: effect.value }
    case "render":
      return { kind: "render", messages: effect.messages }
  }
}

/** The hash of what decides the outcome of a call, read or render. */
export function effectFacts(facts: JsonValue): string {
  return hash("sha256", canonicalJson([1, facts]), "hex").slice(0, 32)
}

/** The hash of what decides a person's answer. */
export function questionFacts(question: string, schema: JsonValue): string {
  return effectFacts([question, schema])
}
