import { setTimeout as wait } from "node:timers/promises"
import { mutate } from "./mutate.ts"
import { Random } from "../../support/random.ts"
import type { Target } from "./target.ts"

/** Characters of the largest input, and the CPU that one may take. */
export const largest = 10_000
export const allowedMs = 100

/** Most inputs are short: they are quick to read, and most defects show in them. The rest is as large as allowed. */
const short = 2000
const largeShare = 0.05

/** An input that took too long, or that something threw at. */
export interface Finding {
  readonly target: string
  readonly seed: number
  readonly index: number
  readonly ms: number
  readonly error: string | null
  readonly input: string
}

export interface Figures {
  inputs: number
  characters: number
  cpuMs: number
  /** The slowest input: of those that were measured again, the best of its times. */
  slowestMs: number
  slowest: string
}

/** Slow inputs are kept, so that others are made from them. */
const kept = 20

/**
 * Throws inputs at a target and measures what each takes of this thread's CPU. The first measurement only raises a suspicion: it may
 * include compilation, garbage collection, or a busy machine. An input is reported for the least of its times.
 */
export async function fuzz(
  target: Target,
  seed: number,
  count: number,
  found: (finding: Finding) => void,
  limitMs = allowedMs,
): Promise<Figures> {
  const random = new Random(seed)
  const pool: { input: string; cost: number }[] = []
  const figures: Figures = { inputs: 0, characters: 0, cpuMs: 0, slowestMs: 0, slowest: "" }
  for (let index = 0; index < 30; index++) await tryOut(target, target.make(random, 1000))
  for (let index = 0; index < count; index++) {
    const most = random.chance(largeShare) ? largest : 100 + random.size(short)
    const fresh = pool.length < kept || random.chance(0.4)
    const before = fresh ? target.make(random, most) : random.pick(pool).input
    const input = (fresh && random.chance(0.4) ? before : mutate(before, random, target.tokens, most)).slice(0, most)
    const first = await tryOut(target, input)
    const { error } = first
    figures.cpuMs += first.ms
    const ms = first.ms > limitMs / 4 ? Math.min(first.ms, await leastOfMore(target, input, limitMs)) : first.ms
    figures.inputs++
    figures.characters += input.length
    if (ms > figures.slowestMs) Object.assign(figures, { slowestMs: ms, slowest: input })
    if (ms > limitMs || error !== null) found({ target: target.name, seed, index, ms, error, input })
    keep(pool, input, ms)
  }
  return figures
}

/** The least time of three more tries. Those that still look like a finding wait in between, so that a busy moment passes. */
async function leastOfMore(target: Target, input: string, limitMs: number): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let again = 0; again < 3; again++) {
    const { ms } = await tryOut(target, input)
    least = Math.min(least, ms)
    if (least <= limitMs / 4) break
    if (least > limitMs) await wait(200)
  }
  return least
}

/** The slowest for their length stay; now and then one goes, or the pool would be one family. */
function keep(pool: { input: string; cost: number }[], input: string, ms: number): void {
  if (input.length < 200) return
  const cost = ms / (input.length + 1000)
  if (pool.length < kept) pool.push({ input, cost })
  else {
    const least = pool.reduce((low, one, index) => (one.cost < (pool[low]?.cost ?? 0) ? index : low), 0)
    if (cost > (pool[least]?.cost ?? 0)) pool[least] = { input, cost }
    else if (input.length % 97 === 0) pool[input.length % kept] = { input, cost }
  }
}

async function tryOut(target: Target, input: string): Promise<{ ms: number; error: string | null }> {
  const started = process.threadCpuUsage()
  let error: string | null = null
  try {
    await target.read(input)
  } catch (thrown) {
    error = thrown instanceof Error ? (thrown.stack ?? thrown.message).slice(0, 1000) : String(thrown)
  }
  const { user, system } = process.threadCpuUsage(started)
  return { ms: (user + system) / 1000, error }
}
