import { eventBlock, wordOfVerify } from "../check/check-triggers.ts"
import { constantIn, numberIn } from "../check/constants.ts"
import type { Program, TriggerSymbol } from "../check/program.ts"
import { eachChain } from "../syntax/each-chain.ts"
import { expressionIn, propertyOf, valuesOf, type Properties, wordOrString } from "../syntax/property-of.ts"
import { isWordOf, type WordList, type WordOf } from "../syntax/property-table.ts"
import type * as Syntax from "../syntax/tree.ts"
import { anyType } from "../types/primitives.ts"
import type { RecordType, Type } from "../types/types.ts"
import type { Entry, Expression } from "./expression.ts"
import { planFunctions } from "./plan-functions.ts"
import type { Plan } from "./plan-shape.ts"
import { Lowering, targetName, unchecked } from "./lower.ts"

export type TriggerPlan = SchedulePlan | WebhookPlan

export interface SchedulePlan {
  readonly kind: "schedule"
  readonly name: string
  readonly cron: string
  readonly timezone: string
  readonly catch_up: WordOf<"catch_up">
  readonly overlap: WordOf<"overlap">
  readonly input: readonly Entry[]
  /** What the output of the run before has to be, where the input is made from it: the file may have changed since. */
  readonly previous?: Pick<Plan, "types"> & { readonly output: Type }
  /** What its expressions may call. Absent where there is nothing. */
  readonly functions?: Pick<Plan, "functions" | "types">
}

export interface WebhookPlan {
  readonly kind: "webhook"
  readonly name: string
  readonly verify: Verification
  /** Names of secrets: a delivery is signed with one of them. */
  readonly secrets: readonly string[]
  readonly when: Expression | null
  readonly input: readonly Entry[]
  /** It sends events, and starts no runs. Absent where it starts runs. */
  readonly event?: EventPlan
  /** The names of headers and fields of the query that the expressions need, as written. */
  readonly headers: readonly string[]
  readonly queries: readonly string[]
  /** How long the sender waits for the output; null: it gets the id of the run at once. */
  readonly reply_within_seconds: number | null
  /** What its expressions may call. Absent where there is nothing. */
  readonly functions?: Pick<Plan, "functions" | "types">
}

export interface EventPlan {
  readonly name: string
  /** A string; null: it is empty. */
  readonly key: Expression | null
  /** Null: the data is null. */
  readonly data: readonly Entry[] | null
  readonly keep_seconds: number
  /** Runs of all callers take it. */
  readonly everyone: boolean
}

export type Verification =
  | { readonly scheme: Exclude<WordOf<"verify">, "hmac"> }
  | {
      readonly scheme: "hmac"
      readonly header: string
      readonly prefix: string
      readonly encoding: WordOf<"encoding">
      readonly algorithm: WordOf<"algorithm">
    }

/** What starts the runs of a program without a caller, in source order. */
export function planTriggers(program: Program): TriggerPlan[] {
  return [...program.triggers.values()].map((symbol) => planTrigger(program, symbol))
}

function planTrigger(program: Program, { declaration, headers, queries }: TriggerSymbol): TriggerPlan {
  const { kind, name, body } = declaration
  const lower = new Lowering(program, planFunctions(program))
  const path = `${kind}.${name.text}`
  const { types } = program
  const callable = program.functions.size === 0 ? {} : { functions: { functions: planFunctions(program), types } }
  const input = lower.entries(valuesOf(body, "input"), path)
  if (kind === "schedule") {
    return {
      kind,
      name: name.text,
      cron: textIn(body, "cron") ?? unchecked("a schedule without `cron`"),
      timezone: textIn(body, "timezone") ?? "UTC",
      catch_up: wordIn("catch_up", body) ?? "last",
      overlap: wordIn("overlap", body) ?? "skip",
      input,
      ...(readsPrevious(body) && { previous: { types, output: program.output?.type ?? anyType } }),
      ...callable,
    }
  }
  const when = expressionIn(body, "when")
  return {
    kind,
    name: name.text,
    verify: verificationOf(propertyOf(body, "verify")),
    secrets: secretNames(expressionIn(body, "secret")),
    when: when === undefined ? null : lower.expression(when, path),
    input,
    ...eventOf(lower, declaration, path),
    headers,
    queries,
    reply_within_seconds: numberIn(body, "reply_within_seconds"),
    ...callable,
  }
}

function readsPrevious(body: Properties): boolean {
  return valuesOf(body, "input").some(({ value }) => {
    let reads = false
    eachChain(value, ({ base }) => (reads ||= base.kind === "name" && base.text === "previous"))
    return reads
  })
}

function eventOf(lower: Lowering, declaration: Syntax.TriggerDeclaration, path: string): Pick<WebhookPlan, "event"> {
  const block = eventBlock(declaration)
  if (block === undefined) return {}
  const key = expressionIn(block, "key")
  return {
    event: {
      name: textIn(block, "name") ?? unchecked("an event without `name`"),
      key: key === undefined ? null : lower.expression(key, path),
      data: propertyOf(block, "data") === undefined ? null : lower.entries(valuesOf(block, "data"), path),
      keep_seconds: numberIn(block, "keep_seconds") ?? 0,
      everyone: propertyOf(block, "to") !== undefined,
    },
  }
}

function verificationOf(property: Syntax.Property | undefined): Verification {
  const scheme = wordOfVerify(property)
  if (!isWordOf("verify", scheme)) return unchecked("a webhook without `verify`")
  if (scheme !== "hmac") return { scheme }
  const block = property?.value.kind === "configured" ? property.value.block : undefined
  return {
    scheme,
    header: textIn(block, "header") ?? unchecked("`hmac` without `header`"),
    prefix: textIn(block, "prefix") ?? "",
    encoding: wordIn("encoding", block) ?? "hex",
    algorithm: wordIn("algorithm", block) ?? "sha256",
  }
}

function secretNames(expression: Syntax.Expression | undefined): string[] {
  const items = expression?.kind === "array" ? expression.items : expression === undefined ? [] : [expression]
  return items.map((item) => (item.kind === "chain" ? targetName(item) : unchecked("a secret that is no reference")))
}

function textIn(block: Properties | undefined, name: string): string | undefined {
  const value = constantIn(block, name)
  return typeof value === "string" ? value : undefined
}

function wordIn<List extends WordList>(list: List, block: Properties | undefined): WordOf<List> | undefined {
  const expression = expressionIn(block, list)
  const written = expression && wordOrString(expression)
  return isWordOf(list, written) ? written : undefined
}

/** The secrets that runs need: those that only webhooks use are none of them. */
export function secretsOfRuns(program: Program): RecordType {
  const { secrets } = program
  if (secrets === undefined) return { kind: "record", fields: [] }
  const webhooks = [...program.triggers.values()].flatMap(
    ({ declaration }) => expressionIn(declaration.body, "secret") ?? [],
  )
  if (webhooks.length === 0) return secrets.type
  const signatures = new Set<Syntax.Chain>()
  for (const expression of webhooks) eachChain(expression, (chain) => signatures.add(chain))
  const [signing, others] = [new Set<string>(), new Set<string>()]
  for (const [chain, root] of program.roots) {
    if (root.kind !== "secrets") continue
    const [step] = chain.steps
    // All of them, as one object.
    if (step?.kind !== "field") return secrets.type
    ;(signatures.has(chain) ? signing : others).add(step.name.text)
  }
  const fields = secrets.type.fields.filter(({ name }) => !signing.has(name) || others.has(name))
  return fields.length === secrets.type.fields.length ? secrets.type : { ...secrets.type, fields }
}
