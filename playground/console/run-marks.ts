import type { ListedRunAnswer } from "../../src/client/client.ts"
import type { StateName } from "../ui/state-words.ts"

/** The mark and the word of each status of a run. */
export const runMarks: Readonly<Record<ListedRunAnswer["status"], readonly [StateName, string]>> = {
  queued: ["waiting", "queued"],
  running: ["running", "running"],
  waiting: ["asking", "waiting"],
  cancelling: ["running", "cancelling"],
  completed: ["completed", "done"],
  failed: ["failed", "failed"],
  cancelled: ["cancelled", "cancelled"],
}
