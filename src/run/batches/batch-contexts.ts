import { resolveBackends } from "../context/backends.ts"
import { calledSecrets } from "../context/called-secrets.ts"
import type { RunContext } from "../context/run-context.ts"
import { scopeAround } from "../../plan/call-scope.ts"
import { prepare } from "../../plan/prepare.ts"
import { RunFailure } from "../../ports/run-failure.ts"

/**
 * The run, and the workflows that it calls, as far as their logs have batches: enough of each to call its vendors, without doing any of its work. One whose addresses
 * need more than that is left out.
 */
export function batchContexts(running: RunContext): RunContext[] {
  const scopes = [...running.past.inside].flatMap(([scope, { batches }]) => (batches.size > 0 ? [scope] : []))
  const all = [running, ...scopes.map((scope) => contextAt(running, scope))]
  return all.flatMap((context) => (context !== null && resolves(context) ? [context] : []))
}

function contextAt(running: RunContext, scope: string): RunContext | null {
  const around = scopeAround(scope)
  const outer = around === null ? running : contextAt(running, around)
  const level = around === null ? scope : scope.slice(around.length + 1)
  const called = outer?.plan.workflows?.[level.slice(0, level.indexOf("@"))]
  const past = running.past.inside.get(scope)
  if (outer === null || called === undefined || past === undefined) return null
  return {
    ...outer,
    scope,
    plan: called.plan,
    prepared: prepare(called.plan),
    input: {},
    secrets: calledSecrets(outer.secrets, called),
    past,
    backends: new Map(),
  }
}

function resolves(context: RunContext): boolean {
  if (context.past.batches.size === 0) return false
  try {
    resolveBackends(context)
    return true
  } catch (error) {
    // The run itself says what is wrong with an address or a key.
    if (error instanceof RunFailure) return false
    throw error
  }
}
