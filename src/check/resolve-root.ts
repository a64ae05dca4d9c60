import { type Hint, meantReference, meantWord } from "../source/hint.ts"
import type { Span } from "../source/span.ts"
import { environmentHint } from "../syntax/chain-parser.ts"
import { expressionIn, isCutOff } from "../syntax/property-of.ts"
import { importKindOf, verbs } from "../syntax/import-kinds.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { CheckContext } from "./check-context.ts"
import { messagesType } from "./chat-types.ts"
import { errorType, integerType } from "../types/primitives.ts"
import { elementType } from "../types/element-type.ts"
import { fieldType } from "../types/field-type.ts"
import { fieldNamed } from "../types/field-named.ts"
import { secretExposed } from "./rules/secret-exposed.ts"
import { unknownReference } from "./infer-steps.ts"
import { foreignRunFields, foreignRunRoots, runType } from "./run-values.ts"
import { isBuiltInType } from "./resolve-types.ts"
import type { StepSymbol } from "./program.ts"
import type { Scope } from "./scope.ts"
import type { Type } from "../types/types.ts"

/** What the start of a chain refers to, its type, and how many steps belong to it (`agent.x` takes one). */
export interface InferredRoot {
  readonly type: Type
  readonly steps: number
}

export function inferRoot(
  checking: CheckContext,
  chain: Syntax.Chain,
  base: Syntax.Name,
  scope: Scope,
): InferredRoot | undefined {
  const variable = scope.variables.get(base.text)
  if (variable?.isModel === true) {
    const message = `\`${base.text}\` is a model, which is not a value`
    const hint = `Only the agent's own \`model\` takes it: \`model: ${base.text}\`.`
    checking.report("type-mismatch", scope.path, chain, message, hint)
    return undefined
  }
  if (variable !== undefined) {
    checking.roots.set(chain, { kind: variable.isItem === true ? "item" : "variable", name: base.text })
    return { type: variable.type, steps: 0 }
  }
  if (scope.isClosed === true) return closedRoot(checking, chain, scope)
  switch (base.text) {
    case "input":
      return requestRoot(checking, chain, base, "input", scope)
    case "secrets":
      if (scope.roots !== undefined && checking.secrets === undefined) return unknownRoot(checking, chain, base, scope)
      return requestRoot(checking, chain, base, "secrets", scope)
    case "agent":
      return stepRoot(checking, chain, base, "agent", checking.agents, scope)
    case "ask":
      return stepRoot(checking, chain, base, "ask", checking.asks, scope)
    case "wait":
      return stepRoot(checking, chain, base, "wait", checking.waits, scope)
    case "dynamic":
      if (scope.roots !== undefined) return unknownRoot(checking, chain, base, scope)
      return dynamicRoot(checking, chain, base, scope)
    case "run":
      return runRoot(checking, chain, scope)
    case "chat":
      return chatRoot(checking, chain, base, scope)
    case "result":
      if (scope.result === undefined) return unknownRoot(checking, chain, base, scope)
      checking.roots.set(chain, { kind: "result" })
      return { type: scope.result, steps: 0 }
    case "round":
      if (scope.hasRound !== true) return unknownRoot(checking, chain, base, scope)
      checking.roots.set(chain, { kind: "round" })
      return { type: integerType, steps: 0 }
    default:
      return unknownRoot(checking, chain, base, scope)
  }
}

/** A trigger's expressions are evaluated before there is a run. */
function closedRoot(checking: CheckContext, chain: Syntax.Chain, scope: Scope): undefined {
  if (checking.skipped.hasError(chain)) return undefined
  const names = [...scope.variables.keys()]
  const near = checking.suggest(checking.quote(chain.base), names)
  const rest = checking.quote({ start: chain.base.end, end: chain.end })
  const known = `In ${scope.place} a value begins with ${names.map((one) => `\`${one}\``).join(", ")}.`
  const hint = near === undefined ? known : meantReference(`${near}${rest}`, chain)
  checking.report("unknown-reference", scope.path, chain, `Unknown reference: ${checking.quote(chain)}`, hint)
  return undefined
}

function requestRoot(
  checking: CheckContext,
  chain: Syntax.Chain,
  base: Syntax.Name,
  kind: "input" | "secrets",
  scope: Scope,
): InferredRoot | undefined {
  const type = kind === "input" ? checking.input : checking.secrets
  if (type === undefined) {
    const [field] = chain.steps
    if (
      checking.skipped.isSwallowed(kind, "{") ||
      (field?.kind === "field" && checking.skipped.isSkipped(field.name.text))
    ) {
      return undefined
    }
    const hint = `The workflow has no \`${kind}\` block: add \`${kind} { … }\`.`
    checking.report("unknown-reference", scope.path, chain, `Unknown reference: ${checking.quote(chain)}`, hint)
    return undefined
  }
  checking.refer(kind, base)
  checking.roots.set(chain, { kind })
  if (kind === "secrets" && scope.secrets !== "allowed") {
    const [field] = chain.steps
    const known = field?.kind !== "field" || fieldNamed(type, field.name.text) !== undefined
    if (known) secretExposed(checking, chain, scope)
  }
  return { type, steps: 0 }
}

/** `run.id`, `run.started_at`, `run.date` */
function runRoot(checking: CheckContext, chain: Syntax.Chain, scope: Scope): InferredRoot | undefined {
  const [step] = chain.steps
  const meant = step?.kind === "field" ? foreignRunFields.get(step.name.text) : undefined
  if (step?.kind === "field" && meant !== undefined) {
    const hint = meantReference(`run.${meant}`, chain)
    const span = { start: step.name.start, end: chain.end }
    checking.report("unknown-reference", scope.path, span, `Unknown reference: ${checking.quote(chain)}`, hint)
    return undefined
  }
  if (!mayRefer(checking, chain, scope, "which are known before the run")) return undefined
  checking.roots.set(chain, { kind: "run" })
  return { type: runType, steps: 0 }
}

/** `chat.history`: the messages before the last one, with their text in `content`. */
function chatRoot(
  checking: CheckContext,
  chain: Syntax.Chain,
  base: Syntax.Name,
  scope: Scope,
): InferredRoot | undefined {
  const [block] = checking.blocks.chat
  if (block === undefined || scope.roots !== undefined) return unknownRoot(checking, chain, base, scope)
  const name = secondSegment(checking, chain, base, ["history"], scope)
  if (name === undefined) return undefined
  const written = expressionIn(block.body, "history")
  const field = written?.kind === "chain" ? written.steps[0] : undefined
  if (name.text !== "history" || field?.kind !== "field") {
    const hint = name.text === "history" ? "Name the field of the input: `chat { history: input.… }`." : undefined
    unknownReference(checking, chain, name, () => ["history"], scope.path, hint)
    return undefined
  }
  if (!mayRefer(checking, chain, scope)) return undefined
  checking.roots.set(chain, { kind: "history", name: field.name.text })
  return { type: messagesType, steps: 1 }
}

/** `agent.x`, `ask.x`, `wait.x` */
function stepRoot(
  checking: CheckContext,
  chain: Syntax.Chain,
  base: Syntax.Name,
  kind: "agent" | "ask" | "wait",
  steps: ReadonlyMap<string, StepSymbol>,
  scope: Scope,
): InferredRoot | undefined {
  const name = secondSegment(checking, chain, base, steps.keys(), scope)
  if (name === undefined) return undefined
  const step = steps.get(name.text)
  const id = `${kind}.${name.text}`
  if (step === undefined) {
    unknownReference(checking, chain, name, () => steps.keys(), scope.path)
    return undefined
  }
  checking.refer(id, name)
  if (scope.result !== undefined && scope.node === id) {
    const rest = checking.quote({ start: chain.steps[0]?.end ?? chain.end, end: chain.end })
    const message = `${id} is what ${scope.isOwnRound === true ? "`until`" : "the requirement"} judges`
    checking.report("unknown-reference", scope.path, chain, message, meantReference(`result${rest}`, chain))
    return undefined
  }
  if (!mayRefer(checking, chain, scope)) return undefined
  checking.roots.set(chain, { kind, name: name.text })
  depend(checking, chain, id, scope)
  return { type: step.type, steps: 1 }
}

/** `dynamic.x`: the agent's own first, then those of the top level. */
function dynamicRoot(
  checking: CheckContext,
  chain: Syntax.Chain,
  base: Syntax.Name,
  scope: Scope,
): InferredRoot | undefined {
  const { agent } = scope
  const name = secondSegment(checking, chain, base, dynamicNames(checking, scope), scope)
  if (name === undefined) return undefined
  if (agent?.localFields.has(name.text) === true) {
    checking.refer(`agent.${agent.name}.dynamic.${name.text}`, name)
    checking.roots.set(chain, { kind: "local", name: name.text })
    if (scope.local !== undefined) {
      checking.dependLocally(agent.name, scope.local, name.text, { span: chain, path: scope.path })
    }
    return { type: agent.locals.get(name.text)?.type ?? errorType, steps: 1 }
  }
  if (!checking.dynamicFields.has(name.text)) {
    if (agent?.later?.has(name.text) === true) {
      const when =
        scope.isOwnRound === true
          ? "`until` is decided after a round, without the agent's own values"
          : "A condition is decided before the agent's own values are computed"
      const hint = `${when}: move it to the top level.`
      unknownReference(checking, chain, name, () => [], scope.path, hint)
      return undefined
    }
    if (checking.skipped.isSwallowed(name.text, ":")) return undefined
    unknownReference(checking, chain, name, () => dynamicNames(checking, scope), scope.path)
    return undefined
  }
  checking.refer(`dynamic.${name.text}`, name)
  if (!mayRefer(checking, chain, scope)) return undefined
  checking.roots.set(chain, { kind: "dynamic", name: name.text })
  depend(checking, chain, `dynamic.${name.text}`, scope)
  return { type: checking.dynamics.get(name.text)?.type ?? errorType, steps: 1 }
}

function* dynamicNames(checking: CheckContext, scope: Scope): Generator<string> {
  if (scope.agent !== undefined) yield* scope.agent.localFields.keys()
  yield* checking.dynamicFields.keys()
}

function depend(checking: CheckContext, chain: Syntax.Chain, on: string, scope: Scope): void {
  if (scope.node !== undefined) checking.depend(scope.node, on, { span: chain, path: scope.path })
}

/** Only `input` and `secrets` decide where a key goes and as whom a server is called. */
function mayRefer(
  checking: CheckContext,
  chain: Syntax.Chain,
  scope: Scope,
  why = "so that no model decides it",
): boolean {
  if (scope.values === "run") return true
  const known = scope.secrets === "allowed" ? "`input` and `secrets` alone" : "`input` alone"
  const message = `${scope.place} may refer to ${known}, ${why}`
  const sentence = message.charAt(0).toUpperCase() + message.slice(1)
  const hint = `Use a value of the request${scope.place.includes("bindings") ? ", or bind it where the import is used" : ""}.`
  checking.report("misplaced-expression", scope.path, chain, sentence, hint)
  return false
}

/** The name after `agent.`, `ask.`, `wait.` or `dynamic.`. */
function secondSegment(
  checking: CheckContext,
  chain: Syntax.Chain,
  base: Syntax.Name,
  known: Iterable<string>,
  scope: Scope,
): Syntax.Name | undefined {
  const [step] = chain.steps
  if (step?.kind === "field" && !step.optional) return step.name
  if ((step === undefined && isCutOff(chain)) || checking.skipped.hasError(chain)) return undefined
  const [example] = known
  const hint = `Write \`${base.text}.${example ?? "name"}\`.`
  checking.report("unknown-reference", scope.path, chain, `Unknown reference: ${checking.quote(chain)}`, hint)
  return undefined
}

/** The form of this language for a word of another one. */
function foreignRoot(word: string, span: Span): Hint | undefined {
  if (["env", "process", "os", "ENV", "var"].includes(word)) return environmentHint
  const lower = word.toLowerCase()
  if (["none", "nil", "undefined", "null"].includes(lower)) return meantWord("null")
  const ofRun = foreignRunRoots.get(lower)
  if (ofRun !== undefined) return meantReference(ofRun, span)
  if (lower === "yes" || lower === "no") return meantWord(String(lower === "yes"))
  return lower === "true" || lower === "false" ? meantWord(lower) : undefined
}

/** What other languages call the value that is judged. */
const foreignResults: ReadonlySet<string> = new Set(["output", "this", "self", "it", "answer", "response"])

/** The chain with its root, or how far it leads: a list has no fields of its own, and not every field is there. */
function rootHint(checking: CheckContext, chain: Syntax.Chain, root: string): Hint {
  const { base, steps } = chain
  const written = checking.quote(base)
  const [step] = steps
  const of: Record<string, Type | undefined> = {
    input: checking.input && fieldNamed(checking.input, written)?.type,
    agent: checking.agents.get(written)?.type,
    ask: checking.asks.get(written)?.type,
    wait: checking.waits.get(written)?.type,
  }
  const type = of[root]
  const whole = `${root}.${written}`
  if (type === undefined || step?.kind !== "field")
    return meantReference(`${root}.${checking.quote({ start: base.start, end: steps.at(-1)?.end ?? base.end })}`, chain)
  const { text } = step.name
  const element = elementType(type, checking.types)
  const owner = element ?? type
  if (fieldType(owner, text, checking.types) === undefined) return meantReference(whole, chain)
  return meantReference(`${whole}${element === undefined ? "" : ".*"}.${text}`, chain)
}

/** What workflows have and tests do not, or not always. */
const isUnseen = /^(?:secrets|dynamic|output)$/

function unknownRoot(checking: CheckContext, chain: Syntax.Chain, base: Syntax.Name, scope: Scope): undefined {
  // It may be a variable of the loop that could not be read.
  if (scope.hasBrokenLoop || checking.skipped.hasError(chain)) return undefined
  const written = checking.quote(chain)
  const { text } = base
  const foreign = foreignRoot(text, chain)
  const report = (hint: Hint): undefined => {
    checking.report("unknown-reference", scope.path, chain, `Unknown reference: ${written}`, hint)
    return undefined
  }
  if (scope.result !== undefined && foreignResults.has(text)) {
    return report(meantReference(`result${written.slice(text.length)}`, chain))
  }
  const kind = importKindOf(text)
  if (kind !== undefined) {
    const [step] = chain.steps
    const name = step?.kind === "field" ? step.name.text : "name"
    const verb = scope.roots === undefined ? verbs[kind] : "calls"
    return report(`A ${kind} is not a value: write \`${verb} ${kind}.${name}\`.`)
  }
  if (text === "workflow") {
    const [step] = chain.steps
    const name = step?.kind === "field" ? step.name.text : "name"
    return report(`A workflow is not a value: write \`call workflow.${name} { input { … } }\`.`)
  }
  if (text === "schema" || isBuiltInType(text)) return report("Expected a value, found a type.")
  if (foreign !== undefined && (foreign === environmentHint || chain.steps.length === 0)) return report(foreign)
  if (text === "model") return report("A model is not a value: name it in the `model` of an agent.")
  const root = [
    ["result", scope.result?.kind === "record" && fieldNamed(scope.result, text) !== undefined] as const,
    ["input", checking.input !== undefined && fieldNamed(checking.input, text) !== undefined] as const,
    ["agent", checking.agents.has(text)] as const,
    ["ask", checking.asks.has(text)] as const,
    ["wait", checking.waits.has(text)] as const,
    ["dynamic", checking.dynamicFields.has(text) || scope.agent?.localFields.has(text) === true] as const,
  ].find(([, known]) => known)?.[0]
  if (root !== undefined) return report(rootHint(checking, chain, root))
  const roots = [...scope.variables.keys(), ...(scope.roots ?? ["input", "agent", "ask", "dynamic", "run", "secrets"])]
  const otherwise = (): string =>
    roots.length === 0 ? "Write the value out." : `A value begins with ${roots.map((one) => `\`${one}\``).join(", ")}.`
  if (scope.roots !== undefined && isUnseen.test(text)) {
    const isFailure = text === "output" && scope.variables.has("error")
    return report(
      isFailure
        ? "A test of an error has no `output`."
        : `${scope.path.startsWith("score.") ? "Scores" : "Tests"} do not see \`${text}\`. ${otherwise()}`,
    )
  }
  if (scope.result !== undefined) roots.unshift("result")
  if (scope.hasRound === true) roots.unshift("round")
  // `inputname`, `input_name`
  const joined = roots.find((one) => one.length > 2 && text.startsWith(one) && text.length > one.length + 1)
  if (joined !== undefined)
    return report(meantReference(`${joined}.${written.slice(joined.length).replace(/^_/, "")}`, chain))
  unknownReference(checking, chain, base, () => roots, scope.path, otherwise())
  return undefined
}
