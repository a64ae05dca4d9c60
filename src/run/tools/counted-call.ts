import type { RunContext } from "../context/run-context.ts"

/** Makes a tool call or resource read of an agent, or of the workflow itself, that counts against the limits. */
export async function countedCall<T>(
  { budget }: RunContext,
  agent: string | undefined,
  call: () => Promise<T>,
): Promise<T> {
  if (!budget.limited) return call()
  const grant = await budget.reserve(agent ?? null, { kind: "tool" })
  try {
    return await call()
  } finally {
    grant.settle(null, false)
  }
}
