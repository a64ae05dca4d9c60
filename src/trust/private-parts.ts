import { remembered } from "../base/remembered.ts"
import type { WorkflowSymbol } from "../check/program.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { Type } from "../types/types.ts"
import type { Labelled } from "./label-tree.ts"
import type { Marks } from "./marks.ts"

/** An argument of a call, with its labels. */
interface BoundValue {
  readonly field: Syntax.ValueField
  readonly value: Labelled
}

/** An agent, as a pass saw it. */
export interface PrivateAgent {
  /** Its model reads private values: all that it says on the way is made from them. */
  reads: boolean
  /** What it continues holds private values. */
  continues: boolean
  /** The fields of its output that are private. */
  readonly output: Set<string>
}

/** A call of a tool in an expression. */
export interface PrivateCall {
  readonly arguments: Map<string, Set<string>>
  isResultPrivate: boolean
}

/** Which values of a file are private, and the nearest declared paths that they come from: whatever a pass sees is added. */
export class PrivateParts {
  readonly #expressions = new Map<Syntax.Expression, Set<string>>()
  readonly agents = new Map<string, PrivateAgent>()
  /** By step and tool. */
  readonly calls = new Map<string, PrivateCall>()
  /** The files that it calls, by their declared names. */
  readonly files = new Map<string, PrivateParts>()
  /** A call of it was not followed: nothing is proven. */
  isUnknown = false

  note(node: Syntax.Expression, paths: readonly string[]): void {
    const known = remembered(this.#expressions, node, () => new Set<string>())
    for (const path of paths) known.add(path)
  }

  /** The declared paths that a private value comes from; none: it is not private. */
  of(node: Syntax.Expression): readonly string[] {
    return [...(this.#expressions.get(node) ?? [])]
  }

  agent(name: string, reads: Marks, continued: Marks, value: Labelled, type: Type): void {
    const known = remembered(this.agents, name, () => ({ reads: false, continues: false, output: new Set<string>() }))
    known.reads ||= isPrivate(reads)
    known.continues ||= isPrivate(continued)
    const fields = type.kind === "record" ? type.fields : []
    for (const field of fields) if (isPrivate(value.field(field.name).whole)) known.output.add(field.name)
  }

  call(step: string, tool: string, bound: readonly BoundValue[], result: Marks): void {
    const known = remembered(this.calls, `${step} ${tool}`, () => ({ arguments: new Map(), isResultPrivate: false }))
    known.isResultPrivate ||= isPrivate(result)
    for (const { field, value } of bound) {
      const paths = remembered(known.arguments, field.name.text, () => new Set<string>())
      if (!isPrivate(value.whole)) continue
      const found = this.of(field.value)
      for (const path of found.length > 0 ? found : sourcesOf(value.whole)) paths.add(path)
    }
  }

  file({ name }: WorkflowSymbol): PrivateParts {
    return remembered(this.files, name.text, () => new PrivateParts())
  }
}

function isPrivate(marks: Marks): boolean {
  return marks.private.length > 0
}

/** The declared paths of private values, without positions and keys. */
export function sourcesOf({ private: ways }: Marks): string[] {
  return ways.map(({ source }) => source.name.replaceAll(/\.\*|\[[^[\]]*\]/g, ""))
}
