import type * as Syntax from "../syntax/tree.ts"
import { requestPlace, runPlace, type Allowance } from "./allowance.ts"
import type { CheckContext } from "./check-context.ts"
import type { DynamicSymbol, LoopVariable } from "./program.ts"
import type { Type } from "../types/types.ts"

/** What an expression may see and do where it stands. */
export interface Scope extends Allowance {
  /** The place in the workflow, for diagnostics: `agent.writer.instruction`. */
  readonly path: string
  /** The place in words, for messages about what is not allowed there: `an instruction`. */
  readonly place: string
  /** The plan's node that this is a part of; undefined where references make no dependency. */
  readonly node: string | undefined
  readonly agent: AgentScope | undefined
  /** Variables of the agent's loop, and of the lists around the expression. */
  readonly variables: ReadonlyMap<string, LoopVariable>
  /** There are variables whose names are unknown. */
  readonly hasBrokenLoop: boolean
  /** The agent-local dynamic value that is being defined. */
  readonly local: string | undefined
  /** Paths that a condition around the expression makes non-null (see narrowing.ts). */
  readonly present: ReadonlySet<string>
  /** In a test: where a value may begin, besides its variables. */
  readonly roots?: readonly string[]
  /** On the left of `??`: what a chain of it lacks is null. */
  readonly isDefaulted?: boolean
  /** It is evaluated outside of a run, where there is no code. */
  readonly withoutCode?: true
  /** `text_of` is allowed all the same: the files are there already. */
  readonly readsFiles?: true
  /** Its variables are all that it may refer to. */
  readonly isClosed?: true
  /** In a requirement, or after a round of a repetition: the type of the output or the answer that is judged. */
  readonly result?: Type
  /** After a round of a repetition, which has a number. */
  readonly hasRound?: true
  /** And that is a round of the agent around it. */
  readonly isOwnRound?: true
}

export const nonePresent: ReadonlySet<string> = new Set()

/** Nothing is known of an agent, a loop or a condition around the place. */
const outside = {
  agent: undefined,
  variables: new Map<string, LoopVariable>(),
  hasBrokenLoop: false,
  local: undefined,
  present: nonePresent,
}

/** The names that only the expressions of one agent (or question) see. */
export interface AgentScope {
  readonly name: string
  readonly localFields: ReadonlyMap<string, Syntax.ValueField>
  readonly locals: Map<string, DynamicSymbol>
  /** In the agent's condition: its own values, which are computed after it. */
  readonly later?: ReadonlyMap<string, Syntax.ValueField>
}

/** The function `infer` of infer.ts, for the parts of it that stand in files of their own. */
export type Infer = (checking: CheckContext, expression: Syntax.Expression, scope: Scope) => Type

/** A place that is evaluated while the workflow runs, as a part of a node. */
export function runScope(node: string, place: string): Scope {
  return { ...runPlace, path: node, place, node, ...outside }
}

/** A place that the request alone decides: where calls go, and as whom. */
export function requestScope(path: string, place: string, allowance = requestPlace): Scope {
  return { ...allowance, path, place, node: undefined, ...outside }
}

export function at(scope: Scope, name: string): Scope {
  return { ...scope, path: `${scope.path}.${name}` }
}
