import assert from "node:assert/strict"
import { describe, test } from "node:test"
import type { RunSlotAnswer, RunSlotMessage } from "./messages.ts"
import { RunSlotBroker, type RunSlotAccount } from "./run-slot-broker.ts"
import { SharedRunSlots } from "./shared-run-slots.ts"

const limits = { maxRuns: 2, maxQueued: 2, perTenant: 2 }

interface Process {
  readonly slots: SharedRunSlots
  readonly account: RunSlotAccount
}

/** A process whose messages arrive in the next turn, and their answers in the one after it. */
function join(desk: RunSlotBroker): Process {
  const account = desk.open((answers: readonly RunSlotAnswer[]) => setImmediate(() => slots.hear(answers)))
  const send = (messages: readonly RunSlotMessage[]): void => void setImmediate(() => account.hear(messages))
  const slots = new SharedRunSlots(send, limits.maxRuns, 2)
  return { slots, account }
}

/** Until all messages have arrived. */
async function turns(): Promise<void> {
  for (let n = 0; n < 8; n++) await new Promise(setImmediate)
}

describe("places of several processes", () => {
  test("are counted together, and the first that waits begins first, wherever it is", async () => {
    const desk = new RunSlotBroker(limits)
    const [a, b] = [join(desk), join(desk)]
    assert.deepEqual([await a.slots.enter("ann"), await b.slots.enter("ann")], [null, null])
    assert.deepEqual([a.slots.begin("ann"), b.slots.begin("ann")], [true, true])
    assert.deepEqual(
      [await a.slots.enter("ann"), await b.slots.enter("ann"), await a.slots.enter("bob")],
      [null, null, "all"],
    )
    const begun: string[] = []
    assert.deepEqual([b.slots.begin("ann"), a.slots.begin("ann")], [false, false])
    b.slots.wait("second", "ann", false, () => begun.push("second"))
    await turns()
    a.slots.wait("third", "ann", false, () => begun.push("third"))
    await turns()
    assert.deepEqual(begun, [])
    b.slots.end("ann")
    b.slots.leave("ann")
    await turns()
    assert.deepEqual(begun, ["second"])
    a.slots.end("ann")
    await turns()
    assert.deepEqual(begun, ["second", "third"])
  })

  test("are free when their process is gone", async () => {
    const desk = new RunSlotBroker(limits)
    const [a, b] = [join(desk), join(desk)]
    for (let n = 0; n < 3; n++) assert.equal(await a.slots.enter("ann"), null)
    assert.deepEqual([a.slots.begin("ann"), a.slots.begin("ann")], [true, true])
    a.slots.wait("lost", "ann", false, () => assert.fail("its process is gone"))
    b.slots.takeUp("ann")
    let begun = 0
    b.slots.wait("woken", "ann", true, () => begun++)
    await turns()
    assert.deepEqual([begun, await b.slots.enter("ann")], [0, "all"])
    a.account.close()
    await turns()
    assert.equal(begun, 1)
    for (let n = 0; n < 3; n++) assert.equal(await b.slots.enter("ann"), null)
    assert.equal(await b.slots.enter("ann"), "all")
  })

  test("come back from a run that there will not be, and from a turn that came too late", async () => {
    const desk = new RunSlotBroker(limits)
    const { slots } = join(desk)
    for (let n = 0; n < 10; n++) {
      assert.equal(await slots.enter("ann"), null)
      slots.abandon("ann")
    }
    for (let n = 0; n < 4; n++) assert.equal(await slots.enter("ann"), null)
    assert.deepEqual([slots.begin("ann"), slots.begin("ann"), slots.begin("ann")], [true, true, false])
    slots.wait("late", "ann", false, () => assert.fail("it waits no longer"))
    await turns()
    slots.end("ann")
    // Its turn is on the way when it is cancelled.
    await new Promise(setImmediate)
    await new Promise(setImmediate)
    slots.unwait("late")
    await turns()
    let begun = 0
    slots.wait("next", "ann", false, () => begun++)
    await turns()
    assert.equal(begun, 1)
  })
})
