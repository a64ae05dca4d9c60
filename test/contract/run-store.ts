import { describe, test } from "node:test"
import { acting } from "./run-store/acting.ts"
import { appending } from "./run-store/appending.ts"
import { asking } from "./run-store/asking.ts"
import { caching } from "./run-store/caching.ts"
import { cancelling } from "./run-store/cancelling.ts"
import { counting } from "./run-store/counting.ts"
import { scoring } from "./run-store/scoring.ts"
import { charting } from "./run-store/charting.ts"
import { creating } from "./run-store/creating.ts"
import { deleting } from "./run-store/deleting.ts"
import { erasing } from "./run-store/erasing.ts"
import { filing } from "./run-store/filing.ts"
import { following } from "./run-store/following.ts"
import { listing } from "./run-store/listing.ts"
import { leasing } from "./run-store/leasing.ts"
import type { Bench } from "./run-store/material.ts"
import { moving } from "./run-store/moving.ts"
import { notifyingContract } from "./run-store/notifying.ts"
import { retaining } from "./run-store/retaining.ts"
import { tellingTime } from "./run-store/telling-time.ts"
import { redacting } from "./run-store/redacting.ts"
import { sending } from "./run-store/sending.ts"
import { versioning } from "./run-store/versioning.ts"
import { triggering } from "./run-store/triggering.ts"
import { waitingContract } from "./run-store/waiting.ts"

/** What every `RunStore` promises. `open` makes an empty store; `close` throws it away. */
export function runStoreContract(name: string, open: () => Promise<Bench & { close(): Promise<void> }>): void {
  describe(`run store: ${name}`, () => {
    const onBench = (title: string, body: (bench: Bench) => Promise<void>) => {
      test(title, async () => {
        const bench = await open()
        try {
          await body(bench)
        } finally {
          await bench.close()
        }
      })
    }
    creating(onBench)
    appending(onBench)
    following(onBench)
    leasing(onBench)
    cancelling(onBench)
    asking(onBench)
    waitingContract(onBench)
    caching(onBench)
    listing(onBench)
    charting(onBench)
    acting(onBench)
    scoring(onBench)
    retaining(onBench)
    redacting(onBench)
    deleting(onBench)
    erasing(onBench)
    notifyingContract(onBench)
    triggering(onBench)
    sending(onBench)
    versioning(onBench)
    moving(onBench)
    filing(onBench)
    counting(onBench)
    tellingTime(onBench)
  })
}
