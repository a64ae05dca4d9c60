/**
 * Asked right before something is done that the log cannot refuse, such as a request to a model or a tool. Null: go on at once,
 * without giving way to anything else. Else wait, and ask again; the promise rejects when the run belongs to another process.
 */
export type Gate = () => Promise<void> | null

export async function pass(gate: Gate): Promise<void> {
  for (let wait = gate(); wait !== null; wait = gate()) await wait
}

/** For calls that belong to no run. */
export const openGate: Gate = () => null
