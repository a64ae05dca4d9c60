import type { WaitingFor } from "./events.ts"

/** What a run waits for. Earlier releases knew questions alone. */
export function readWaitingFor({
  batches = [],
  waits = [],
  ...rest
}: Pick<WaitingFor, "questions"> & Partial<WaitingFor>): WaitingFor {
  return { ...rest, batches, waits }
}
