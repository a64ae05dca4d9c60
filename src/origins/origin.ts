import type { Expression, Root } from "../plan/expression.ts"
import type { Place } from "./known-values.ts"

/** Where some characters came from. */
export interface Origin {
  readonly kind: "source" | "input" | "step" | "tool" | "person" | "computed"
  /** `line 24`, `input.files[0].path`, `agent.sort.words`, `tool.find` */
  readonly label: string
  /** Line in the source of the run. */
  readonly line?: number
  /** The column there; of a text in a block the line's first. Set where the line is. */
  readonly column?: number
  /** The step that gave it. */
  readonly node?: string
  /** What computed it. */
  readonly expression?: Expression
  /** It is not known from the flow of data: the same words stand there. */
  readonly isGuess?: true
}

/** Some characters of a text that have one origin; null where it is not known. */
export interface Piece {
  readonly text: string
  readonly origin: Origin | null
}

/** The origin of a value that an expression takes from elsewhere. */
export function originOf(expression: Expression, place?: Place): Origin {
  const root = rootOf(expression)
  const written = "text" in expression ? expression.text.replace(/\s+/g, " ").slice(0, 80) : "a value of the source"
  switch (expression.op) {
    case "call":
      return { kind: "tool", label: `tool.${expression.tool}` }
    case "call-workflow":
      return { kind: "tool", label: `workflow.${expression.workflow}` }
    case "read":
      return { kind: "tool", label: `resource.${expression.resource}` }
    case "render":
      return { kind: "tool", label: `prompt.${expression.prompt}` }
    case "literal":
      return { kind: "source", label: "the source" }
    default:
      return root === null ? { kind: "computed", label: written, expression } : ofRoot(root, written, place)
  }
}

function rootOf(expression: Expression): Root | null {
  if (expression.op === "chain") return rootOf(expression.base)
  return expression.op === "reference" ? expression.root : null
}

function ofRoot(root: Root, written: string, place: Place | undefined): Origin {
  switch (root.kind) {
    case "input":
      return { kind: "input", label: written }
    case "agent":
      return { kind: "step", label: written, node: `agent.${root.name}` }
    case "ask":
      return { kind: "person", label: written, node: `ask.${root.name}` }
    case "wait":
      return { kind: "step", label: written, node: `wait.${root.name}` }
    case "dynamic":
      return { kind: "step", label: written, node: `dynamic.${root.name}` }
    case "variable":
      return place === undefined ? { kind: "computed", label: written } : ofVariable(root.name, written, place)
    default:
      return { kind: "computed", label: written }
  }
}

/** A variable of a loop is an item of its list: `input.files[0].path`. */
function ofVariable(name: string, written: string, { node: { id, loop, repeat }, iteration }: Place): Origin {
  if (repeat !== undefined && iteration !== undefined && iteration > 0) {
    const rest = written.startsWith(name) ? written.slice(name.length).replace(/^\?/, "") : ""
    return { kind: "step", label: `${id}[${iteration - 1}]${rest}`, node: id }
  }
  if (loop === null || iteration === undefined) return { kind: "computed", label: written }
  const items = originOf(loop.items)
  const { pattern } = loop
  const field = pattern.kind === "item" ? "" : (pattern.fields.find(({ variable }) => variable === name)?.field ?? name)
  const rest = written === name || written.startsWith(`${name}.`) ? written.slice(name.length) : ""
  return { ...items, label: `${items.label}[${iteration}]${field === "" ? "" : `.${field}`}${rest}` }
}
