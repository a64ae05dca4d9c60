import assert from "node:assert/strict"
import { describe, test } from "node:test"
import type { PlaceAnswer, PlaceMessage } from "./messages.ts"
import { PlaceDesk, type PlaceAccount } from "./place-desk.ts"
import { SharedPlaces } from "./shared-places.ts"

const limits = { max_runs: 2, max_queued: 2, per_share: 2 }

interface Process {
  readonly places: SharedPlaces
  readonly account: PlaceAccount
}

/** A process whose messages arrive in the next turn, and their answers in the one after it. */
function join(desk: PlaceDesk): Process {
  const account = desk.open((answers: readonly PlaceAnswer[]) => setImmediate(() => places.hear(answers)))
  const send = (messages: readonly PlaceMessage[]): void => void setImmediate(() => account.hear(messages))
  const places = new SharedPlaces(send, limits.max_runs, 2)
  return { places, account }
}

/** Until all messages have arrived. */
async function turns(): Promise<void> {
  for (let n = 0; n < 8; n++) await new Promise(setImmediate)
}

describe("places of several processes", () => {
  test("are counted together, and the first that waits begins first, wherever it is", async () => {
    const desk = new PlaceDesk(limits)
    const [a, b] = [join(desk), join(desk)]
    assert.deepEqual([await a.places.enter("ann"), await b.places.enter("ann")], [null, null])
    assert.deepEqual([a.places.begin("ann"), b.places.begin("ann")], [true, true])
    assert.deepEqual(
      [await a.places.enter("ann"), await b.places.enter("ann"), await a.places.enter("bob")],
      [null, null, "all"],
    )
    const begun: string[] = []
    assert.deepEqual([b.places.begin("ann"), a.places.begin("ann")], [false, false])
    b.places.wait("second", "ann", false, () => begun.push("second"))
    await turns()
    a.places.wait("third", "ann", false, () => begun.push("third"))
    await turns()
    assert.deepEqual(begun, [])
    b.places.end("ann")
    b.places.leave("ann")
    await turns()
    assert.deepEqual(begun, ["second"])
    a.places.end("ann")
    await turns()
    assert.deepEqual(begun, ["second", "third"])
  })

  test("are free when their process is gone", async () => {
    const desk = new PlaceDesk(limits)
    const [a, b] = [join(desk), join(desk)]
    for (let n = 0; n < 3; n++) assert.equal(await a.places.enter("ann"), null)
    assert.deepEqual([a.places.begin("ann"), a.places.begin("ann")], [true, true])
    a.places.wait("lost", "ann", false, () => assert.fail("its process is gone"))
    b.places.takeUp("ann")
    let begun = 0
    b.places.wait("woken", "ann", true, () => begun++)
    await turns()
    assert.deepEqual([begun, await b.places.enter("ann")], [0, "all"])
    a.account.close()
    await turns()
    assert.equal(begun, 1)
    for (let n = 0; n < 3; n++) assert.equal(await b.places.enter("ann"), null)
    assert.equal(await b.places.enter("ann"), "all")
  })

  test("come back from a run that there will not be, and from a turn that came too late", async () => {
    const desk = new PlaceDesk(limits)
    const { places } = join(desk)
    for (let n = 0; n < 10; n++) {
      assert.equal(await places.enter("ann"), null)
      places.abandon("ann")
    }
    for (let n = 0; n < 4; n++) assert.equal(await places.enter("ann"), null)
    assert.deepEqual([places.begin("ann"), places.begin("ann"), places.begin("ann")], [true, true, false])
    places.wait("late", "ann", false, () => assert.fail("it waits no longer"))
    await turns()
    places.end("ann")
    // Its turn is on the way when it is cancelled.
    await new Promise(setImmediate)
    await new Promise(setImmediate)
    places.unwait("late")
    await turns()
    let begun = 0
    places.wait("next", "ann", false, () => begun++)
    await turns()
    assert.equal(begun, 1)
  })
})
