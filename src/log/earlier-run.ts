import { hash } from "node:crypto"
import { canonicalJson } from "../base/canonical-json.ts"
import { isJsonObject } from "../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../base/json-value.ts"
import type { Message } from "./messages.ts"
import type { EffectReplayData } from "./replay-data.ts"
import { placeKey, placeOf, type EffectReplayState, type ReplayState, type StepOutcome } from "./replay-state.ts"

/** A step of an earlier run that a re-run may take over: what it gave, by the hash of its facts. */
export interface EarlierStep {
  /** In its loop, and in lists: as `placeKey` writes it. */
  readonly position: string
  readonly output: JsonValue
  /** Null where it was not kept. */
  readonly history: readonly Message[] | null
  /** The caller of the re-run gave it. */
  readonly given?: true
}

/** A `call`, `read` or `render` of the workflow's own. */
export interface EarlierEffect {
  readonly position: string
  readonly outcome: EffectReplayData
}

/** Where an effect is made: its expression, the item of the loop around it, and the items of the lists around it. */
export interface EffectPlace {
  readonly site: string
  readonly iteration: number | null
  readonly items: readonly number[]
}

/**
 * The results of an earlier run that a re-run can take over. Items of a loop, and of lists, are found by their facts, whatever their position: each is given
 * once, the one of the same position first.
 */
export class EarlierRun {
  readonly run_id: string
  readonly #forced: ReadonlySet<string>
  /** All of this file's steps must run. */
  readonly #isForcedWhole: boolean
  readonly #from: readonly string[]
  readonly #past: ReplayState
  readonly #scope: string | null
  /** By file: what the called workflows leave, which all calls of a re-run share. */
  readonly #files: Map<string, StepTables>
  readonly #tables: StepTables
  /** Results in place of those of steps, whatever their facts; none inside of called workflows. */
  readonly #given: JsonObject

  constructor(
    run_id: string,
    from: readonly string[],
    past: ReplayState,
    called: CalledAgain | null = null,
    given: JsonObject = {},
  ) {
    this.run_id = run_id
    this.#given = given
    this.#from = from
    this.#past = past
    this.#scope = called?.scope ?? null
    const own = this.#scope === null ? "" : `${this.#scope}/`
    this.#forced = new Set(from.filter((id) => id.startsWith(own)).map((id) => id.slice(own.length)))
    this.#isForcedWhole = called?.forced ?? false
    this.#files = called?.files ?? new Map<string, StepTables>()
    this.#tables = called === null ? tablesOf(past, null) : this.#ofFile(called.file)
  }

  /** Results for a workflow that the re-run calls: those of steps of the same file, in whatever call. */
  within(scope: string, file: string): EarlierRun {
    const own = scope.slice(this.#scope === null ? 0 : this.#scope.length + 1)
    // A call runs again as a whole where `from` names it, or the value that makes it.
    const [, place = ""] = /@(dynamic\.\w+)/.exec(own) ?? []
    const forced = this.#isForced(own, place)
    return new EarlierRun(this.run_id, this.#from, this.#past, { scope, file, forced, files: this.#files })
  }

  #ofFile(file: string): StepTables {
    let tables = this.#files.get(file)
    if (tables === undefined) {
      tables = { steps: new Map(), effects: new Map() }
      for (const [scope, past] of this.#past.inside) if (past.file === file) addTables(tables, past, scope)
      this.#files.set(file, tables)
    }
    return tables
  }

  /** Whether one of these must run, whatever its facts. */
  #isForced(...ids: readonly string[]): boolean {
    return this.#isForcedWhole || ids.some((id) => this.#forced.has(id))
  }

  /** Whether `from` names a call that the model of this step made, or a step in it: only the model can call again. */
  #isForcedInside(step: string, iteration: number | null): boolean {
    const made = `@${step}${iteration === null ? "" : `[${iteration}]`}#`
    return [...this.#forced].some((id) => id.split("/", 1)[0]?.includes(made) === true)
  }

  /** `needed`: the step is of use only with its history. */
  takeStep(step: string, iteration: number | null, facts: string, needed: boolean): EarlierStep | undefined {
    const key = iteration === null ? step : `${step}[${iteration}]`
    const output = Object.hasOwn(this.#given, key) ? this.#given[key] : undefined
    if (output !== undefined) return { position: "", output, history: null, given: true }
    if (this.#isForced(step) || this.#isForcedInside(step, iteration)) return undefined
    return take(
      this.#tables.steps.get(`${step} ${facts}`),
      positionIn(this.#scope, placeKey("", iteration)),
      ({ history }) => !needed || history !== null,
    )
  }

  /** `step` is `tool.name` and its like, `path` where it is called from. */
  takeEffect(step: string, path: string, at: EffectPlace, facts: string): EarlierEffect | undefined {
    const place = path.startsWith("dynamic.") ? path : step
    if (this.#isForced(step, place)) return undefined
    const position = positionIn(this.#scope, placeKey("", at.iteration, at.items))
    return take(this.#tables.effects.get(`${at.site} ${facts}`), position, () => true)
  }
}

/** A call of a workflow in a re-run. */
interface CalledAgain {
  readonly scope: string
  readonly file: string
  readonly forced: boolean
  readonly files: Map<string, StepTables>
}

interface StepTables {
  readonly steps: Map<string, EarlierStep[]>
  readonly effects: Map<string, EarlierEffect[]>
}

function tablesOf(past: ReplayState, scope: string | null): StepTables {
  const tables: StepTables = { steps: new Map(), effects: new Map() }
  addTables(tables, past, scope)
  return tables
}

function addTables({ steps, effects }: StepTables, past: ReplayState, scope: string | null): void {
  const addStep = (key: string, { facts, output, history }: StepOutcome): void => {
    if (facts === undefined) return
    const { name, position } = placeOf(key)
    add(steps, `${name} ${facts}`, { position: positionIn(scope, position), output, history })
  }
  for (const [key, { completed }] of past.agents) {
    if (completed !== null) addStep(`agent.${key}`, completed)
  }
  for (const [key, reused] of past.reusedAnswers) addStep(key, reused)
  for (const { asked, outcome, requirements } of past.questions.values()) {
    if (asked.kind !== "ask" || outcome?.kind !== "answered" || (asked.scope ?? null) !== scope) continue
    const facts = questionFacts(asked, requirements)
    const key = placeKey(`ask.${asked.name}`, asked.iteration)
    addStep(key, { output: outcome.answer, history: null, facts })
  }
  for (const [key, { outcome, facts }] of past.waitSteps) {
    if (outcome?.output !== undefined) addStep(key, { output: outcome.output, history: null, facts })
  }
  for (const [key, effect] of past.effects) {
    const outcome = outcomeOf(effect)
    if (effect.facts === undefined || outcome === null) continue
    const { name, position } = placeOf(key)
    add(effects, `${name} ${effect.facts}`, { position: positionIn(scope, position), outcome })
  }
}

/** A position in one call of a workflow. */
function positionIn(scope: string | null, position: string): string {
  return scope === null ? position : `${scope} ${position}`
}

function add<T>(table: Map<string, T[]>, key: string, item: T): void {
  const before = table.get(key)
  if (before === undefined) table.set(key, [item])
  else before.push(item)
}

function take<T extends { readonly position: string }>(
  items: T[] | undefined,
  position: string,
  fits: (item: T) => boolean,
): T | undefined {
  if (items === undefined) return undefined
  const same = items.findIndex((item) => item.position === position && fits(item))
  const at = same >= 0 ? same : items.findIndex(fits)
  return at < 0 ? undefined : items.splice(at, 1)[0]
}

function outcomeOf(effect: EffectReplayState): EffectReplayData | null {
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

/** What a person is asked, and what the answer begins with. */
interface QuestionWords {
  readonly question: string
  readonly schema: JsonValue
  readonly prefill?: JsonObject
}

/**
 * The hash of what decides a person's answer; `requirements` is that of what the answer must fulfil. Which fields a schema requires follows from their
 * types, and is left out: releases differ in it.
 */
export function questionFacts({ question, schema, prefill }: QuestionWords, requirements?: string): string {
  const facts = [question, withoutRequired(schema), ...(requirements === undefined ? [] : [requirements])]
  return effectFacts(prefill === undefined ? facts : [...facts, { prefill }])
}

function withoutRequired(schema: JsonValue): JsonValue {
  if (Array.isArray(schema)) return schema.map(withoutRequired)
  if (!isJsonObject(schema)) return schema
  const kept = Object.entries(schema).filter(([name, value]) => name !== "required" || !Array.isArray(value))
  return Object.fromEntries(kept.map(([name, value]) => [name, withoutRequired(value)]))
}
