import assert from "node:assert/strict"
import type { Entry, Expression } from "../../src/plan/expression.ts"
import type { AgentNode, AskNode, Plan } from "../../src/plan/plan-shape.ts"
import { expressionsOf } from "../../src/plan/prepare.ts"

/** What a place lets an expression refer to. */
interface Place {
  readonly name: string
  readonly secrets: boolean
  /** Values of the run, and calls; else `input` and `secrets` alone. */
  readonly run: boolean
  /** The expression may be an asset, or a text with assets in it. */
  readonly assets: "value" | "text" | "none"
}

const connection = (name: string): Place => ({ name, secrets: true, run: false, assets: "none" })
const inRun = (name: string): Place => ({ name, secrets: false, run: true, assets: "none" })

/** Fails if anything in the plan refers to what it must not: no secret reaches a model or a caller, no model a connection. */
export function checkPlanPlaces(plan: Plan): void {
  for (const [name, { endpoint, api_key, headers }] of Object.entries(plan.providers)) {
    for (const expression of [endpoint, api_key]) {
      if (expression !== null) checkExpression(expression, connection(`provider.${name}`))
    }
    checkEntries(headers, connection(`provider.${name}.headers`))
  }
  for (const [name, { endpoint, headers }] of Object.entries(plan.servers)) {
    checkExpression(endpoint, connection(`mcp.${name}`))
    checkEntries(headers, connection(`mcp.${name}.headers`))
  }
  for (const [name, { id }] of Object.entries(plan.models)) {
    checkExpression(id, { ...connection(`model.${name}`), secrets: false })
  }
  for (const table of [plan.tools, plan.resources]) {
    for (const [name, { bindings }] of Object.entries(table)) checkEntries(bindings, connection(`import ${name}`))
  }
  for (const [name, { bindings }] of Object.entries(plan.prompts)) {
    checkEntries(bindings, { ...connection(`prompt.${name}`), secrets: false })
  }
  for (const node of plan.nodes) {
    if (node.kind === "dynamic") checkExpression(node.value, { ...inRun(node.id), assets: "value" })
    else if (node.kind === "output") checkEntries(node.fields, inRun("output"))
    else if (node.kind === "ask") checkAsk(node)
    else if (node.kind === "wait") for (const part of expressionsOf(node)) checkExpression(part, inRun(node.id))
    else checkAgent(node)
  }
}

function checkAsk(ask: AskNode): void {
  const { id, loop, when, question, show, to, on_expiry } = ask
  for (const expression of [loop?.items, when?.condition, question, show, to, on_expiry]) {
    if (expression !== undefined && expression !== null) checkExpression(expression, inRun(id))
  }
  checkRequires(ask)
}

/** What requirements refer to is apart from them: they themselves see `result` and the captured values alone. */
function checkRequires({ id, requires }: AgentNode | AskNode): void {
  for (const { captures } of requires) for (const expression of captures) checkExpression(expression, inRun(id))
}

function checkAgent(node: AgentNode): void {
  const place = inRun(node.id)
  checkRequires(node)
  if (node.loop !== null) checkExpression(node.loop.items, place)
  if (node.when !== null) checkExpression(node.when.condition, place)
  checkEntries(node.locals, { ...place, assets: "value" })
  for (const { name, content, media_type } of node.files) {
    for (const expression of [name, content, media_type]) if (expression !== null) checkExpression(expression, place)
  }
  for (const { kind, bindings, approval } of node.uses) {
    checkEntries(bindings, { ...place, secrets: kind !== "prompt" })
    if (approval !== null && approval.to !== null) checkExpression(approval.to, place)
  }
  const summary = node.context?.compact?.instruction ?? null
  if (summary !== null) checkExpression(summary, place)
  checkExpression(node.instruction, { ...place, assets: "text" })
}

function checkEntries(entries: readonly Entry[], place: Place): void {
  for (const { value } of entries) checkExpression(value, place)
}

function checkExpression(expression: Expression, place: Place): void {
  const inner: Place = { ...place, assets: "none" }
  switch (expression.op) {
    case "literal":
      return
    case "text":
      for (const part of expression.parts) {
        if (typeof part !== "string")
          checkExpression(part, place.assets === "text" ? { ...place, assets: "value" } : inner)
      }
      return
    case "array":
      for (const item of expression.items) checkExpression(item, inner)
      return
    case "list": {
      const { loop, when, by, value } = expression
      const here: Place = { ...inner, secrets: false }
      for (const part of [loop.items, when, by?.key ?? null, value]) if (part !== null) checkExpression(part, here)
      return
    }
    case "object":
      return checkEntries(expression.entries, inner)
    case "reference": {
      const { kind } = expression.root
      if (kind === "secrets") assert.ok(place.secrets, `${expression.text} is exposed in ${place.name}`)
      else if (kind !== "input" && kind !== "matched" && kind !== "item")
        assert.ok(place.run, `${expression.text} decides ${place.name}`)
      return
    }
    case "chain":
      return checkExpression(expression.base, inner)
    case "failure":
      return checkExpression(expression.of, inner)
    case "default": {
      const either: Place = place.assets === "value" ? place : inner
      checkExpression(expression.left, either)
      return checkExpression(expression.right, either)
    }
    case "binary":
    case "arithmetic":
      checkExpression(expression.left, { ...inner, secrets: false })
      return checkExpression(expression.right, { ...inner, secrets: false })
    case "function":
    case "own-function":
      for (const item of expression.items) checkExpression(item, { ...inner, secrets: false })
      return
    case "not":
    case "negate":
      return checkExpression(expression.value, { ...inner, secrets: false })
    case "match": {
      checkExpression(expression.value, inner)
      const either: Place = place.assets === "value" ? place : inner
      for (const branch of expression.branches) checkExpression(branch.value, either)
      return
    }
    case "call":
      assert.ok(place.run, `a call decides ${place.name}`)
      checkEntries(expression.input, { ...inner, secrets: false })
      if (expression.approval !== null && expression.approval.to !== null) {
        checkExpression(expression.approval.to, { ...inner, secrets: false })
      }
      return checkEntries(expression.bindings, { ...inner, secrets: true })
    case "call-workflow": {
      assert.ok(place.run, `a call of a workflow decides ${place.name}`)
      const { input, approval, repeat } = expression
      const shown: Place = { ...inner, secrets: false }
      checkEntries(input, shown)
      if (approval !== null && approval.to !== null) checkExpression(approval.to, shown)
      if (repeat === undefined) return
      checkExpression(repeat.until, shown)
      return checkEntries(repeat.next, shown)
    }
    case "read":
    case "render":
      assert.ok(place.run, `a ${expression.op} decides ${place.name}`)
      return checkEntries(expression.bindings, { ...inner, secrets: expression.op === "read" })
    case "asset": {
      assert.equal(place.assets, "value", `an asset goes nowhere in ${place.name}`)
      for (const part of [expression.value, expression.media_type, expression.title]) {
        if (part !== null) checkExpression(part, inner)
      }
    }
  }
}
