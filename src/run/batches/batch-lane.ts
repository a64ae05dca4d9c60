import type { BatchAnswer, BatchSeat, BatchedCall, CallToBatch } from "../../ports/batch-seat.ts"
import { hash } from "node:crypto"
import { nextTurn } from "../../event-loop/in-turns.ts"
import { batchBytes, batchItems, leastBatchItems } from "../../base/limits.ts"
import type { EventData } from "../../log/events.ts"
import { showMoney, toMoney, worstCost } from "../../log/money.ts"
import { placeKey } from "../../log/replay-state.ts"
import type { AgentNode } from "../../plan/plan-shape.ts"
import { callKey } from "../../log/ledger-fold.ts"
import { batchPrice, type Price } from "../../plan/price-of-model.ts"
import { BatchTrouble, type BatchCall, type BatchLook, type ModelBatches } from "../../ports/model-batches.ts"
import { EgressFailure } from "../../ports/egress.ts"
import { backendOf, listedPrice, modelId, priceOf } from "../context/backends.ts"
import {
  callWithLease,
  inScope,
  outerScope,
  runInBackground,
  untilAlarm,
  type LaneClaims,
  type RunContext,
} from "../context/run-context.ts"
import { cancelMs, firstBatchAt, lateAt, longestPollMs, nextPoll } from "./batch-times.ts"
import { customId, iterationOf, targetOf, type OpenBatch, type SeatedCall } from "./open-batch.ts"

type LeftFor = EventData["batch_left"]["reason"]

/** A call that has room in the limits of the run, and its body. */
interface ReadyCall {
  readonly seated: SeatedCall
  readonly body: string
}

/**
 * The model calls of a looped agent that are made in batches. Items come here instead of calling their model; when none of them can go on, those that are here form the
 * next batch. What the vendor gives is handed to them as if their calls had just been made, so that retries and repairs come here again. After a crash the items come
 * here with the same calls, and those whose batch is in the log wait for it.
 */
export class BatchLane {
  readonly #running: RunContext
  readonly #node: AgentNode
  readonly #batches: ModelBatches
  readonly #model: string
  /** Iterations that can go on by themselves. */
  #working: number
  #waiting = new Map<number, SeatedCall>()
  #ready: SeatedCall[] = []
  /** By id. */
  readonly #open = new Map<string, OpenBatch>()
  /** By iteration: the batch of the log that the item waits for. */
  readonly #known = new Map<number, OpenBatch>()
  /** Items that have been given an answer, or go on directly: busy until they come back or end. */
  readonly #busy = new Map<number, () => void>()
  #firstAt: number | null
  /** Why no more batches are made. */
  #over: LeftFor | null
  #scout: Promise<void> | null = null
  #scouted: (() => void) | null = null
  #scoutOf = -1
  #flushing = false
  /** A batch is being made, and waits for the reservations of its calls: nothing is sent without them. */
  #gathering = false
  /** Reservations that are not granted yet. */
  readonly #reserving = new Set<Promise<void>>()
  /** Iterations that have no room in the limits or budgets. */
  readonly #paused = new Set<number>()
  #direct = 0
  readonly #queue: (() => void)[] = []

  constructor(running: RunContext, node: AgentNode, batches: ModelBatches, iterations: number) {
    const { past, signal } = running
    this.#running = running
    this.#node = node
    this.#batches = batches
    this.#model = node.models[0].name
    this.#working = iterations
    this.#firstAt = firstBatchAt(past, node.name)
    this.#over = past.leftBatches.get(node.name)?.find((reason) => reason !== "few") ?? null
    for (const batch of past.batches.values()) {
      if (batch.agent !== node.name) continue
      const items = batch.items.filter(
        ({ iteration }) => past.inBatch.get(placeKey(node.name, iteration)) === batch.batch,
      )
      if (items.length === 0) continue
      const { batch: id, model, hash, preparedAt, providerId, submittedAt } = batch
      const open = this.#add(
        { id, model, hash, sentAt: preparedAt, isOld: true },
        items.map(({ iteration }) => iteration),
      )
      open.providerId = providerId
      open.submittedAt = submittedAt
      for (const { iteration } of items) this.#known.set(iteration, open)
    }
    signal.addEventListener("abort", () => this.#stop(), { once: true })
  }

  /** Open batches that the vendor knows, or may know. */
  get open(): readonly OpenBatch[] {
    return [...this.#open.values()].filter(({ ended }) => ended === null)
  }

  /** How the item of an iteration makes its calls; null: as others do, where nobody knows yet which output format the backend honours. */
  async seat(iteration: number, claims: LaneClaims | null): Promise<BatchSeat | null> {
    if (!this.#knowsFormat(iteration)) {
      if (this.#scout === null) {
        this.#scoutOf = iteration
        this.#scout = new Promise((resolve) => (this.#scouted = resolve))
        return null
      }
      await this.#scout
      this.#running.signal.throwIfAborted()
    }
    return { call: (call) => this.#call(iteration, call, claims), directly: (call) => this.#directly(iteration, call) }
  }

  /** The step of an iteration is over, however it ended. */
  ended(iteration: number): void {
    if (iteration === this.#scoutOf) this.#scouted?.()
    this.#cameBack(iteration)
    if (!this.#paused.delete(iteration)) this.#working--
    this.#flushSoon()
  }

  #knowsFormat(iteration: number): boolean {
    if (this.#over !== null || this.#known.has(iteration) || this.#firstAt !== null) return true
    const running = this.#running
    return this.#batches.knowsFormat(running.caller, backendOf(running, this.#model), this.#backendId())
  }

  #backendId(): string {
    return modelId(this.#running, this.#model, outerScope(this.#running, `model.${this.#model}.id`))
  }

  #call(iteration: number, call: CallToBatch, claims: LaneClaims | null): Promise<BatchedCall | null> {
    const { signal } = this.#running
    if (signal.aborted) return Promise.reject(signal.reason as Error)
    this.#cameBack(iteration)
    if (this.#paused.delete(iteration)) this.#working++
    return new Promise((resolve, reject) => {
      const seated: SeatedCall = { iteration, call, grant: null, claims, claim: null, resolve, reject }
      const known = this.#known.get(iteration)
      this.#known.delete(iteration)
      if (known === undefined) this.#waiting.set(iteration, seated)
      else this.#rejoin(known, seated)
      this.#working--
      this.#flushSoon()
    })
  }

  async #directly<T>(iteration: number, call: () => Promise<T>): Promise<T> {
    const { permits, maxConcurrency } = this.#running
    const most = this.#node.concurrency ?? maxConcurrency
    if (this.#direct >= most) await new Promise<void>((resolve) => this.#queue.push(resolve))
    this.#direct++
    // The others need not wait for it.
    this.#working--
    this.#flushSoon()
    try {
      return await permits.use(call)
    } finally {
      this.#working++
      this.#direct--
      this.#queue.shift()?.()
      if (this.#running.signal.aborted) this.#cameBack(iteration)
    }
  }

  #add(about: Pick<OpenBatch, "id" | "model" | "hash" | "sentAt" | "isOld">, iterations: readonly number[]): OpenBatch {
    const batch: OpenBatch = {
      ...about,
      providerId: null,
      submittedAt: null,
      seated: new Map(),
      open: new Set(iterations),
      early: new Map(),
      taken: new Set(),
      watched: false,
      progress: null,
      ended: null,
    }
    this.#open.set(batch.id, batch)
    return batch
  }

  /** An item whose batch is in the log: what it had reserved counts as used there. */
  #rejoin(batch: OpenBatch, seated: SeatedCall): void {
    const { budget, past } = this.#running
    const items = budget.limited ? past.batches.get(batch.id)?.items : undefined
    const reserved = items?.find(({ iteration }) => iteration === seated.iteration)?.reserved
    if (reserved !== undefined) {
      const { tokens, cost } = reserved
      const own = { tokens, cost: cost === null ? null : toMoney(cost) }
      seated.grant = budget.resume(this.#node.name, this.#need(seated.call), own)
    }
    batch.seated.set(seated.iteration, seated)
    const early = batch.early.get(seated.iteration)
    if (early !== undefined) this.#give(batch, seated, early)
  }

  #need({ input, output, least }: CallToBatch) {
    const price = priceOf(this.#running, this.#model, this.#node.prompt_cache)
    return { kind: "model", input: input(), output, least, price: price === null ? null : batchPrice(price) } as const
  }

  // --------------------------------------------------------------------------------------------- making batches

  /** Where no item can go on by itself, those that wait are sent. */
  #flushSoon(): void {
    if (this.#working > 0 || this.#flushing || this.#gathering || this.#running.signal.aborted) return
    this.#flushing = true
    this.#busyWith(
      (async () => {
        await nextTurn()
        this.#flushing = false
        if (this.#working > 0 || this.#running.signal.aborted) return
        await this.#flush()
      })(),
    )
  }

  /** The run does not park meanwhile, and fails with what goes wrong. */
  #busyWith(work: Promise<void>): void {
    const { busyWork } = this.#running
    const tracked: Promise<void> = work
      .catch((error: unknown) => this.#running.fail(error))
      .finally(() => busyWork.delete(tracked))
    busyWork.add(tracked)
  }

  async #flush(): Promise<void> {
    for (const batch of this.#open.values()) this.#watch(batch)
    const waiting = [...this.#waiting.values()]
    this.#waiting.clear()
    if (waiting.length === 0 && this.#ready.length === 0) return
    if (this.#isLate()) this.#over ??= "late"
    if (this.#over !== null || waiting.length + this.#ready.length < leastBatchItems) {
      this.#leave([...waiting, ...this.#takeReady()], this.#over ?? "few")
      return
    }
    for (const seated of waiting) this.#reserve(seated)
    // Those that have no room wait until something comes back: the others go.
    if (this.#reserving.size > 0) {
      const stop = new AbortController()
      const patience = this.#running.ports.clock.sleep(reserveMs, stop.signal).catch(() => undefined)
      this.#gathering = true
      await Promise.race([Promise.all(this.#reserving), patience])
      this.#gathering = false
      stop.abort()
      // Items may have come back meanwhile.
      if (this.#waiting.size > 0) this.#flushSoon()
    }
    const ready = this.#takeReady()
    if (ready.length > 0 && ready.length < leastBatchItems) return this.#leave(ready, "few")
    await this.#send(ready)
  }

  #takeReady(): SeatedCall[] {
    const ready = this.#ready
    this.#ready = []
    return ready
  }

  #reserve(seated: SeatedCall): void {
    const { budget } = this.#running
    if (!budget.limited && seated.claims === null) return void this.#ready.push(seated)
    const reserving: Promise<void> = this.#reserved(seated)
      .then(
        () => void this.#ready.push(seated),
        (error: unknown) => {
          // It goes on when there is room, or ends.
          this.#paused.add(seated.iteration)
          seated.reject(error)
        },
      )
      .finally(() => {
        this.#reserving.delete(reserving)
        if (this.#ready.length > 0) this.#flushSoon()
      })
    this.#reserving.add(reserving)
  }

  async #reserved(seated: SeatedCall): Promise<void> {
    const { budget } = this.#running
    const need = this.#need(seated.call)
    if (budget.limited) seated.grant = await budget.reserve(this.#node.name, need)
    if (seated.claims === null) return
    const { input, price, least } = need
    const output = seated.grant?.output ?? need.output
    try {
      seated.claim = await seated.claims({ attempt: seated.call.attempt, input, output, price, least })
    } catch (error) {
      giveUp(seated)
      throw error
    }
  }

  /** The calls are made directly. */
  #leave(left: readonly SeatedCall[], reason: LeftFor): void {
    if (left.length === 0) return
    const calls = left.map(({ iteration, call: { attempt } }) => ({ iteration, attempt }))
    this.#running.log.add("batch_left", { agent: this.#node.name, items: left.length, reason }, { calls })
    for (const seated of left) {
      giveUp(seated)
      this.#goesOn(seated.iteration)
      seated.resolve(null)
    }
  }

  #goesOn(iteration: number): void {
    this.#working++
    if (this.#busy.has(iteration)) return
    this.#busyWith(new Promise((resolve) => this.#busy.set(iteration, resolve)))
  }

  #cameBack(iteration: number): void {
    this.#busy.get(iteration)?.()
    this.#busy.delete(iteration)
    for (const batch of this.#open.values()) {
      if (batch.taken.delete(iteration)) this.#clean(batch)
    }
  }

  async #send(ready: readonly SeatedCall[]): Promise<void> {
    let part: ReadyCall[] = []
    let bytes = 0
    const parts = [part]
    for (const seated of ready) {
      const body = this.#body(seated)
      const size = Buffer.byteLength(body)
      if (part.length > 0 && (part.length === batchItems || bytes + size > batchBytes)) {
        parts.push((part = []))
        bytes = 0
      }
      bytes += size
      part.push({ seated, body })
      if (part.length % 100 === 0) await nextTurn()
    }
    for (const one of parts) if (one.length > 0) await this.#submit(one)
  }

  /** With a bound on its output tokens, where limits or budgets ask for one. */
  #body(seated: SeatedCall): string {
    return seated.call.body(this.#bound(seated))
  }

  #bound({ grant, claim }: SeatedCall): number | null {
    return claim?.output ?? (grant !== null && this.#running.budget.boundsOutput ? grant.output : null)
  }

  async #submit(ready: readonly ReadyCall[]): Promise<void> {
    const { log, ports, ledger } = this.#running
    const id = `wb_${ports.random.id().replaceAll("-", "")}`
    const iterations = ready.map(({ seated }) => seated.iteration)
    const sentAt = ports.clock.now()
    const own = hash("sha256", ready.map(({ body }) => body).join("\n"), "base64url")
    const batch = this.#add({ id, model: this.#model, hash: own, sentAt, isOld: false }, iterations)
    this.#firstAt ??= sentAt
    for (const { seated } of ready) batch.seated.set(seated.iteration, seated)
    const backendId = this.#backendId()
    const cache = this.#node.prompt_cache
    const price = priceOf(this.#running, this.#model, cache)
    const budgetPrice = listedPrice(this.#running, this.#model, backendId, cache) ?? price
    const counted = budgetPrice === null ? null : batchPrice(budgetPrice)
    const items = ready.map(({ seated }) => {
      const { iteration, call, grant, claim } = seated
      const own = { iteration, attempt: call.attempt }
      if (grant === null && claim === null) return own
      if (claim !== null)
        ledger.hold(callKey({ agent: this.#node.name, ...own, ...inScope(this.#running) }, 1, call.attempt), claim)
      const { input, output: most, price: at } = this.#need(call)
      const output = claim?.output ?? grant?.output ?? most
      const cost = (by: Price | null): number | null => (by === null ? null : showMoney(worstCost(input, output, by)))
      return { ...own, reserved: { tokens: input + output, cost: cost(at), budgeted: cost(counted) } }
    })
    log.add(
      "batch_prepared",
      { agent: this.#node.name, batch: id, items: items.length },
      { model: this.#model, id: backendId, price: counted, hash: own, items },
    )
    await log.stored()
    await this.#submitOnce(batch, ready)
  }

  async #submitOnce(batch: OpenBatch, ready: readonly ReadyCall[]): Promise<void> {
    const running = this.#running
    const calls: BatchCall[] = ready.map(({ seated: { iteration }, body }) => ({
      custom_id: customId(batch.id, iteration),
      body,
    }))
    const target = targetOf(running, batch.model)
    const made = await callWithLease(running, () => this.#batches.submit(target, batch.id, calls))
    running.signal.throwIfAborted()
    switch (made.outcome) {
      case "accepted":
        return this.#accepted(batch, made.provider_id, ready)
      case "refused":
        this.#over = "refused"
        return this.#leave(this.#close(batch), "refused")
      case "failed":
        return this.#giveAll(batch, made.answer)
      case "busy":
        this.#failing(this.#submitLater(batch, ready, made.retryAfterMs))
        return
      case "unknown":
        // The run may park meanwhile.
        this.#failing(this.#search(batch, ready, made.answer))
    }
  }

  /** The vendor has no room for a batch now. It is asked again as long as there is time; the run may park meanwhile. */
  async #submitLater(batch: OpenBatch, ready: readonly ReadyCall[], retryAfterMs: number | null): Promise<void> {
    if (this.#isLate()) {
      this.#over ??= "late"
      return this.#leave(this.#close(batch), "late")
    }
    batch.progress = { status: "busy", completed: 0, failed: 0 }
    await this.#untilPoll(batch, retryAfterMs ?? 0)
    this.#running.signal.throwIfAborted()
    await this.#submitOnce(batch, ready)
  }

  async #accepted(batch: OpenBatch, provider_id: string, ready: readonly ReadyCall[]): Promise<void> {
    const { log, ports } = this.#running
    batch.providerId = provider_id
    batch.submittedAt = ports.clock.now()
    const price = priceOf(this.#running, batch.model, this.#node.prompt_cache)
    let [bytes, tokens, cost] = [0, 0, 0n]
    for (const { seated, body } of ready) {
      const { input, output } = this.#need(seated.call)
      bytes += Buffer.byteLength(body)
      tokens += input + output
      if (price !== null) cost += worstCost(input, output, batchPrice(price))
    }
    log.add("batch_submitted", {
      agent: this.#node.name,
      batch: batch.id,
      items: ready.length,
      bytes,
      provider_id,
      reserved: { tokens, cost: price === null ? null : showMoney(cost) },
    })
    await log.stored()
    batch.watched = true
    this.#failing(this.#untilEnded(batch))
  }

  /** Nobody knows whether the batch was made: the vendor is asked for one with our id. */
  async #search(batch: OpenBatch, ready: readonly ReadyCall[], failed: BatchAnswer | null): Promise<void> {
    const running = this.#running
    const { ports, log } = running
    for (let looks = 1; ;) {
      const target = targetOf(running, batch.model)
      const found = await this.#tried(() =>
        this.#batches.find(target, batch.id, batch.open.size, batch.sentAt - clockSkewMs),
      )
      running.signal.throwIfAborted()
      if (found !== null && typeof found === "object") return this.#accepted(batch, found.provider_id, ready)
      if (found === "none") {
        // A request that was on its way may arrive after the first look.
        if (looks++ >= 2) break
        await ports.clock.sleep(searchMs, running.signal)
        continue
      }
      if (this.#isLate(cancelMs)) return this.#leave(this.#close(batch), "late")
      await this.#untilPoll(batch)
    }
    if (failed !== null) return this.#giveAll(batch, failed)
    log.add("batch_repeated", { agent: this.#node.name, batch: batch.id })
    await log.stored()
    await this.#submitOnce(batch, ready)
  }

  /** After a crash between sending and knowing. */
  async #searchOld(batch: OpenBatch): Promise<void> {
    const ready = [...batch.seated.values()].map((seated) => ({ seated, body: this.#body(seated) }))
    await this.#search(batch, ready, null)
  }

  /** Null where the vendor could not be asked. */
  async #tried<T>(ask: () => Promise<T>): Promise<T | null> {
    try {
      return await callWithLease(this.#running, ask)
    } catch (error) {
      this.#running.signal.throwIfAborted()
      if (error instanceof EgressFailure || error instanceof BatchTrouble) return null
      throw error
    }
  }

  // ------------------------------------------------------------------------------------------- watching batches

  #isLate(byMs = 0): boolean {
    if (this.#firstAt === null) return false
    return this.#running.ports.clock.now() >= lateAt(this.#node, this.#firstAt) + byMs
  }

  #untilPoll(batch: OpenBatch, leastMs = 0): Promise<void> {
    const now = this.#running.ports.clock.now()
    const late = lateAt(this.#node, this.#firstAt ?? now)
    const next = Math.max(nextPoll(batch.submittedAt ?? batch.sentAt, now), now + Math.min(leastMs, longestPollMs))
    const due_at = now < late ? Math.min(next, late) : now + latePollMs
    const { id, progress } = batch
    return untilAlarm(this.#running, { kind: "batch", id, key: null, due_at, ...(progress !== null && { progress }) })
  }

  #watch(batch: OpenBatch): void {
    if (batch.watched || batch.ended !== null) return
    // What this process sends is watched once it is accepted.
    if (!batch.isOld) return
    batch.watched = true
    this.#failing(batch.providerId === null ? this.#searchOld(batch) : this.#untilEnded(batch))
  }

  /** The run fails with what goes wrong. */
  #failing(work: Promise<void>): void {
    work.catch((error: unknown) => {
      if (!this.#running.signal.aborted) this.#running.fail(error)
    })
  }

  async #untilEnded(batch: OpenBatch): Promise<void> {
    const running = this.#running
    const provider_id = batch.providerId ?? ""
    let cancelled = false
    for (let first = true; ; first = false) {
      // What the log knows may have ended long ago.
      if (!first || !batch.isOld) await this.#untilPoll(batch)
      running.signal.throwIfAborted()
      if (await this.#looked(batch, provider_id)) return
      if (!this.#isLate()) continue
      if (this.#isLate(cancelMs)) {
        this.#over ??= "late"
        return this.#leave(this.#close(batch), "late")
      }
      if (cancelled) continue
      const target = targetOf(running, batch.model)
      cancelled = (await this.#tried(() => this.#batches.cancel(target, provider_id).then(() => true))) ?? false
    }
  }

  /** Asks the vendor once; true when the batch is over, and its items have their answers. */
  async #looked(batch: OpenBatch, provider_id: string): Promise<boolean> {
    const running = this.#running
    const target = targetOf(running, batch.model)
    const asked = await this.#tried(async () => ({ look: await this.#batches.look(target, provider_id) }))
    if (asked === null) return false
    const { look } = asked
    if (look === null) {
      this.#giveAll(batch, { status: null, body: "The model backend does not know the batch any more" })
      return true
    }
    const { status, completed, failed } = look
    batch.progress = { status, completed, failed }
    if (!look.ended) return false
    const late = this.#isLate()
    const left: SeatedCall[] = []
    const take = (custom_id: string, answer: BatchAnswer): void => {
      const iteration = iterationOf(batch.id, custom_id)
      if (iteration === null || !batch.open.delete(iteration)) return
      const seated = batch.seated.get(iteration)
      if (late && (answer.cancelled === true || answer.status === null)) {
        if (seated !== undefined) left.push(seated)
      } else if (seated === undefined) batch.early.set(iteration, answer)
      else this.#give(batch, seated, answer)
    }
    const read = await this.#tried(() => this.#batches.results(target, provider_id, look, take).then(() => true))
    if (read === null) {
      for (const { iteration } of left) batch.open.add(iteration)
      return false
    }
    const body = look.problem ?? "The batch of the model backend ended without an answer to the call"
    batch.ended = look
    for (const iteration of batch.open) {
      const seated = batch.seated.get(iteration)
      if (seated === undefined) batch.early.set(iteration, { status: null, body })
      else if (late) left.push(seated)
      else this.#give(batch, seated, { status: null, body })
    }
    batch.open.clear()
    if (late) this.#over ??= "late"
    this.#leave(left, "late")
    this.#clean(batch)
    return true
  }

  #give(batch: OpenBatch, seated: SeatedCall, answer: BatchAnswer): void {
    batch.seated.delete(seated.iteration)
    batch.open.delete(seated.iteration)
    batch.taken.add(seated.iteration)
    this.#goesOn(seated.iteration)
    const { grant } = seated
    seated.resolve({
      batch: batch.id,
      submitted_at: batch.submittedAt ?? batch.sentAt,
      answer,
      max_tokens: this.#bound(seated),
      settle: (usage, answered) => grant?.settle(usage, answered),
    })
  }

  /** All of its calls have come to the same. */
  #giveAll(batch: OpenBatch, answer: BatchAnswer): void {
    for (const seated of this.#close(batch)) this.#give(batch, seated, answer)
  }

  /** Nothing more is expected of it. */
  #close(batch: OpenBatch): SeatedCall[] {
    const seated = [...batch.seated.values()]
    batch.ended = { status: "ended", ended: true, completed: 0, failed: 0 }
    batch.seated.clear()
    batch.open.clear()
    return seated
  }

  /** Once the log has what came of all of its items, nothing of it stays at the vendor. */
  #clean(batch: OpenBatch): void {
    const { ended, providerId } = batch
    if (ended === null || batch.taken.size + batch.early.size > 0 || !this.#open.delete(batch.id)) return
    if (providerId === null) return
    const running = this.#running
    runInBackground(running, this.#removed(batch.model, providerId, ended))
  }

  async #removed(model: string, providerId: string, look: BatchLook): Promise<void> {
    const { log, signal } = this.#running
    await nextTurn()
    await log.stored()
    if (signal.aborted) return
    await this.#batches.remove(targetOf(this.#running, model), providerId, look)
  }

  /** The run stops. */
  #stop(): void {
    const { reason } = this.#running.signal as { readonly reason: unknown }
    for (const finish of this.#busy.values()) finish()
    this.#busy.clear()
    this.#scouted?.()
    for (const go of this.#queue.splice(0)) go()
    for (const seated of [...this.#waiting.values(), ...this.#takeReady()]) {
      giveUp(seated)
      seated.reject(reason)
    }
    this.#waiting.clear()
    for (const { seated, providerId } of this.#open.values()) {
      for (const { grant, reject } of seated.values()) {
        // Calls at the vendor count with their reservations.
        grant?.settle(null, providerId !== null)
        reject(reason)
      }
    }
  }
}

/** The call is not made in a batch. */
function giveUp(seated: SeatedCall): void {
  seated.grant?.settle(null, false)
  seated.claim?.settle({ tokens: 0, cost: 0n })
  seated.claim?.logged()
  seated.grant = null
  seated.claim = null
}

/** How long to wait for reservations that are not granted at once. */
const reserveMs = 1_000
const latePollMs = 10_000
const searchMs = 10_000
/** The clocks of vendors may differ from the store's. */
const clockSkewMs = 600_000
