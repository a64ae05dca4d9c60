import type { DynamicSymbol, LoopVariable } from "./program.ts"
import type * as Syntax from "../syntax/tree.ts"

/** What an expression may see and do where it stands. */
export interface Scope {
  /** The place in the workflow, for diagnostics: `agent.writer.instruction`. */
  readonly path: string
  /** The place in words, for the sentence about an exposed secret: `an instruction`. */
  readonly place: string
  /** The plan's node that this is a part of; undefined where references make no dependency. */
  readonly node: string | undefined
  readonly agent: AgentScope | undefined
  /** The agent-local dynamic value that is being defined. */
  readonly local: string | undefined
  readonly secrets: "allowed" | "exposed"
  /** `request`: only `input` and `secrets`, so that no model decides; `none`: constants. */
  readonly roots: "all" | "request"
  /** `call`, `read` and `render` may stand here. */
  readonly calls: boolean
  /** An asset may be written into the text (`instruction`), or be the value (`value`). */
  readonly assets: "instruction" | "value" | "none"
}

/** The names that only an agent's own expressions see. */
export interface AgentScope {
  readonly name: string
  readonly variables: ReadonlyMap<string, LoopVariable>
  readonly localFields: ReadonlyMap<string, Syntax.ValueField>
  readonly locals: Map<string, DynamicSymbol>
}

export function at(scope: Scope, name: string): Scope {
  return { ...scope, path: `${scope.path}.${name}` }
}
