import assert from "node:assert/strict"
import { test } from "node:test"
import { ann, aQuestion, asked, waits } from "../contract/run-store/asking.ts"
import { BareStores, createRun } from "./bare-stores.ts"

// A process parks a run, and stands still before it removes its own entry from the list of open runs. Meanwhile another process claims the run, which has its answer,
// and gives it back: the entry that the first one removes must not be that of the run as it stands then.

const leaseMs = 10_000

test("a run that was woken while its owner was parking it is still found by claims", async () => {
  const stores = new BareStores()
  let meanwhile: (() => Promise<void>) | null = null
  const first = await stores.open((direct) => ({
    purge: async (stream, subject, keep) => {
      const act = subject.includes(".open.") ? meanwhile : null
      if (act !== null) meanwhile = null
      await act?.()
      return direct.purge(stream, subject, keep)
    },
  }))
  const second = await stores.open()
  const { clock } = stores
  const lease = await createRun(first)
  await first.append(lease, [asked(1, aQuestion("run1", "q1", clock))])
  assert.equal((await second.questions.answer("run1", "q1", ann))?.stored, true)
  const claims = async (): Promise<readonly string[]> =>
    (await second.claim("second", 1, leaseMs)).map(({ run_id }) => run_id)

  meanwhile = async () => {
    const [claimed] = await second.claim("second", 1, leaseMs)
    assert.equal(claimed?.woken, true)
    const at = "2026-11-15T01:00:00.000Z"
    await second.append(claimed, [
      { id: 3, type: "question_answered", at, data: { id: "q1", name: "review", ...ann, at } },
    ])
    await second.release(claimed)
  }
  await first.append(lease, [waits(2, ["q1"], clock)])
  assert.equal(meanwhile, null)

  assert.deepEqual(await claims(), ["run1"])
})
