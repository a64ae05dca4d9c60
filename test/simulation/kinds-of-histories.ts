import { simulate } from "./history.ts"
import { simulateTriggers } from "./trigger-history.ts"
import { simulateWaits } from "./wait-history.ts"

/** By what they are about. */
export const kindsOfHistories = { steps: simulate, triggers: simulateTriggers, waits: simulateWaits }
