import type { FastifyInstance } from "fastify"
import { isoTime } from "../../base/iso-time.ts"
import { giveScore, listScores, type GivenScoreAnswer, type ScoresAnswer } from "../../api/scores.ts"
import { dayMs, mostByHand, type PutOutcome, type ScoreKey, type ScoreSum } from "../../ports/scores.ts"
import { callerOf } from "../caller-of.ts"
import { listNeedsKeys } from "../callers.ts"
import { refuse, refuseAt, runExpired } from "../http-error.ts"
import { ownRun } from "../own-run.ts"
import type { RouteDependencies } from "../route-dependencies.ts"
import { serve } from "../serve-route.ts"
import { readTime } from "./spending.ts"

const usualDays = 30

/** Scores that people give by hand, and the sums of all scores. */
export function scoreRoutes(app: FastifyInstance, parts: RouteDependencies, isOpenToStrangers: boolean): void {
  const { store, clock, planOf } = parts

  serve(app, giveScore, async (request) => {
    const run = await ownRun(parts, request, request.params.run_id)
    const { run_id } = run
    const { name, value, comment } = request.body
    if (run.finished_at === null) throw refuse("conflict", notEnded)
    const compiled = await planOf(await store.request(run_id), run.caller)
    const isDeclared = "plan" in compiled && compiled.plan.scores?.some((one) => one.name === name) === true
    if (isDeclared) throw refuse("conflict", `The workflow declares the score \`${name}\`: give yours another name`)
    const by = callerOf(request)
    const at = clock.now()
    const score = { name, value, at: isoTime(at), by, ...(typeof comment === "string" && { comment }) }
    const outcome = await store.scores.put(run_id, { score, name, by, counted: { value, model: null }, at, cost: 0 })
    refuseOutcome(outcome)
    return { run_id, score } satisfies GivenScoreAnswer
  })

  serve(app, listScores, async (request) => {
    if (isOpenToStrangers && !request.isOperator) throw listNeedsKeys("scores")
    const { by = "day", workflow = null, name = null, ...given } = request.query
    const to = given.to === undefined ? clock.now() : readTime(given.to, "to", dayMs)
    const from = given.from === undefined ? to - usualDays * dayMs : readTime(given.from, "from", 0)
    if (from > to) throw refuseAt("invalid_request", "from", "`from` must not be after `to`")
    const days = { from: Math.floor(from / dayMs), to: Math.ceil(to / dayMs) }
    const caller = request.isOperator ? null : callerOf(request)
    const sums = await store.scores.sums({ by, caller, workflow, name, ...days })
    return {
      by,
      from: isoTime(days.from * dayMs),
      to: isoTime(days.to * dayMs),
      scores: scoresOf(by, sums),
    } satisfies ScoresAnswer
  })
}

const notEnded = "The run has not ended: it is scored after its end"

function refuseOutcome(outcome: PutOutcome): void {
  if (outcome === "open") throw refuse("conflict", notEnded)
  if (outcome === "full") throw refuse("conflict", `The run has ${mostByHand} scores that were given by hand already`)
  if (outcome === "gone") throw runExpired()
}

/** By name, then by key. */
function scoresOf(by: ScoreKey, sums: readonly ScoreSum[]): ScoresAnswer["scores"] {
  const groups = Map.groupBy(sums, ({ name, key }) => JSON.stringify([name, key]))
  const rows = [...groups.values()].flatMap((group) => {
    const [first] = group
    return first === undefined ? [] : [rowOf(by, first, group)]
  })
  return rows.sort(({ of: a }, { of: b }) => (a < b ? -1 : a > b ? 1 : 0)).map(({ row }) => row)
}

function rowOf(
  by: ScoreKey,
  { name, key }: ScoreSum,
  group: readonly ScoreSum[],
): { readonly of: string; readonly row: ScoresAnswer["scores"][number] } {
  const count = group.reduce((all, one) => all + one.count, 0)
  const numbers = group.find(({ value }) => value === "")
  const named = group
    .filter(({ value }) => value !== "" && value !== "text")
    .sort((a, b) => (a.value < b.value ? -1 : 1))
  const all = named.reduce((sum, one) => sum + one.count, 0)
  const shares = Object.fromEntries(named.map(({ value, count: one }) => [String(JSON.parse(value)), one / all]))
  const place = by === "day" ? { day: isoTime(Number(key) * dayMs).slice(0, 10) } : { [by]: key === "" ? null : key }
  return {
    of: `${name}\0${by === "day" ? key.padStart(12, "0") : key}`,
    row: {
      name,
      ...place,
      count,
      ...(numbers !== undefined && { mean: numbers.sum / numbers.count }),
      ...(named.length > 0 && { shares }),
    },
  }
}
