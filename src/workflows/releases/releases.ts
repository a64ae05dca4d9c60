import { randomUUID } from "node:crypto"
import { remembered } from "../../base/remembered.ts"
import type { JsonObject } from "../../base/json-value.ts"
import type { SourceToPlan } from "../../compiler/compiler.ts"
import type { Planned } from "../../compiler/source-jobs.ts"
import type { Release } from "../../log/release.ts"
import { isTerminal, type LogEvent } from "../../log/events.ts"
import type { ReleasePlan } from "../../plan/plan-release.ts"
import type { Clock } from "../../ports/clock.ts"
import { RunFailure } from "../../ports/run-failure.ts"
import { allRuns, type ListedRun, type WorkflowVersion } from "../../ports/run-list.ts"
import { StoreFailure, type RunStore } from "../../ports/store.ts"
import { evaluate } from "../../run/values/evaluate.ts"
import { EvaluationWork } from "../../run/values/evaluation-work.ts"
import { inputOf } from "../../run/values/input-of.ts"
import { emptyScope } from "../../run/values/scope.ts"
import type { Candidate, LoadedWorkflow } from "../load-workflow.ts"
import type { NamedWorkflow, WorkflowFolder } from "../workflow-folder.ts"
import type { ServerSecrets } from "../server-secrets.ts"
import { obstacles } from "../workflow-view.ts"
import { figuresOf } from "./figures.ts"
import { agreementOf, type Agreement } from "./agreement-of.ts"
import { scoreFigures } from "./score-figures.ts"
import { mustStop, type Judged } from "./stop-rule.ts"

/** Runs of each side that are judged at most. */
const judgedRuns = 500
/** What another replica has stopped is known here after this time. */
const knownMs = 1_000
/** Runs that end together are judged together. */
const judgeAfterMs = 250

export interface ReleaseParts {
  readonly folder: Pick<WorkflowFolder, "get" | "list">
  readonly store: RunStore
  readonly serverSecrets: Pick<ServerSecrets, "of">
  readonly planOf: (source: SourceToPlan, share: string) => Promise<Planned>
  readonly clock: Pick<Clock, "now" | "monotonic">
  readonly log: {
    info(about: Readonly<Record<string, unknown>>, message: string): void
    error(about: Readonly<Record<string, unknown>>, message: string): void
  }
  readonly bug: (error: unknown) => void
}

/** The version that a run by name gets. */
export interface Chosen {
  readonly serving: LoadedWorkflow
  /** Absent where there is no candidate. */
  readonly release?: Release
}

/** A candidate, as it stands. */
export interface Standing {
  readonly stopped: boolean
  /** Runs that were made before do not count. */
  readonly since: number
}

export interface ReleaseView extends Judged {
  readonly state: "running" | "stopped" | "incompatible"
  readonly candidate_of: Candidate
  readonly compared: Agreement
}

/** The candidates of the folder: which runs they get, what their figures are, and when they stop. */
export class Releases {
  readonly #parts: ReleaseParts
  /** By workflow and the bytes of the candidate's file. */
  readonly #standings = new Map<string, { readonly until: number; readonly standing: Promise<Standing> }>()
  /** Workflows of the runs with a side that this process works on. */
  readonly #runs = new Map<string, WorkflowVersion>()
  readonly #judging = new Map<string, NodeJS.Timeout>()

  constructor(parts: ReleaseParts) {
    this.#parts = parts
  }

  /** The side of a run by name. `request`: what is the same when it is sent again; null where nothing is known. */
  async choose(workflow: NamedWorkflow, input: JsonObject, request: string | null): Promise<Chosen | null> {
    const { name, serving, candidate } = workflow
    if (serving === null || candidate === undefined) return serving && { serving }
    const current = { serving, release: "current" } as const
    const { loaded, release } = candidate
    if (loaded === null || release.share === 0 || this.#isRefused(workflow, loaded)) return current
    if ((await this.#standing(name, candidate)).stopped) return current
    const key = await this.#keyOf(name, loaded, release, input, request)
    if (key === null) return current
    const place = await this.#parts.store.keyedHash(["release", name, ...key])
    return place < release.share ? { serving: loaded, release: "candidate" } : current
  }

  /** The side of runs that only the current version gets. */
  ofCurrent({ candidate }: Pick<NamedWorkflow, "candidate">): { readonly release?: Release } {
    return candidate === undefined ? {} : { release: "current" }
  }

  /** Secrets of the server would go where a caller's input says. */
  #isRefused(workflow: NamedWorkflow, serving: LoadedWorkflow): boolean {
    return obstacles({ ...workflow, serving }, this.#parts.serverSecrets).length > 0
  }

  /** Null where `by` has no value: then the current version takes the run. */
  async #keyOf(
    name: string,
    loaded: LoadedWorkflow,
    { by, functions }: ReleasePlan,
    input: JsonObject,
    request: string | null,
  ): Promise<string[] | null> {
    if (by === null) return ["run", request ?? randomUUID()]
    const compiled = await this.#parts.planOf({ ...loaded, workflow: { name } }, "")
    if ("error" in compiled) return null
    try {
      const scope = {
        ...emptyScope,
        input: inputOf(compiled.plan, input),
        path: "release.by",
        ...(functions && { functions }),
        work: new EvaluationWork(),
      }
      const value = evaluate(by, scope)
      return value === null || typeof value === "object" ? null : ["by", JSON.stringify(value)]
    } catch (error) {
      // The input does not fit, which whoever takes the run says.
      if (error instanceof RunFailure || error instanceof TypeError) return null
      throw error
    }
  }

  /** How a release stands; null where there is no candidate. */
  async view(name: string): Promise<ReleaseView | null> {
    const workflow = this.#parts.folder.get(name)
    if (workflow?.candidate === undefined) return null
    const { candidate } = workflow
    const [judged, compared] = await Promise.all([this.#judged(workflow, candidate), this.#compared(name, candidate)])
    const { stopped } = await this.#standing(name, candidate)
    const state = candidate.loaded === null ? "incompatible" : stopped ? "stopped" : "running"
    return {
      ...judged,
      agreement: compared.agreement,
      shadows: compared.shadows,
      state,
      candidate_of: candidate,
      compared,
    }
  }

  /** By hand. False where there is no candidate. */
  async set(name: string, stopped: boolean): Promise<boolean> {
    const candidate = this.#parts.folder.get(name)?.candidate
    if (candidate === undefined) return false
    const at = this.#parts.clock.now()
    const { triggers } = this.#parts.store
    // Runs from before would stop it at once.
    if (!stopped) await triggers.setPause(begunId(name, candidate), { paused: false, at })
    await triggers.setPause(stoppedId(name, candidate), { paused: stopped, at })
    this.#standings.clear()
    return true
  }

  /** Those that are stopped, and those that are not. */
  async standings(): Promise<{ readonly workflow: string; readonly stopped: boolean }[]> {
    const found: { workflow: string; stopped: boolean }[] = []
    for (const { name, candidate } of this.#parts.folder.list()) {
      if (candidate === undefined) continue
      found.push({ workflow: name, stopped: (await this.#standing(name, candidate)).stopped })
    }
    return found
  }

  async isStopped(name: string, candidate: Candidate): Promise<boolean> {
    return (await this.#standing(name, candidate)).stopped
  }

  taken({ run_id, workflow }: { readonly run_id: string; readonly workflow: WorkflowVersion | null }): void {
    if (workflow?.release !== undefined) this.#runs.set(run_id, workflow)
  }

  left(run_id: string): void {
    this.#runs.delete(run_id)
  }

  appended(run_id: string, events: readonly LogEvent[]): void {
    const workflow = this.#runs.get(run_id)
    const last = events.at(-1)
    if (workflow === undefined || last === undefined) return
    if (last.type === "run_waiting") this.#runs.delete(run_id)
    if (!isTerminal(last.type)) return
    this.#runs.delete(run_id)
    this.judgeSoon(workflow.name)
  }

  close(): void {
    for (const timer of this.#judging.values()) clearTimeout(timer)
  }

  judgeSoon(name: string): void {
    if (this.#judging.has(name)) return
    const judge = (): void => {
      this.#judging.delete(name)
      this.#judge(name).catch((error: unknown) => {
        if (!(error instanceof StoreFailure)) this.#parts.bug(error)
      })
    }
    this.#judging.set(name, setTimeout(judge, judgeAfterMs).unref())
  }

  async #judge(name: string): Promise<void> {
    const workflow = this.#parts.folder.get(name)
    const candidate = workflow?.candidate
    if (workflow === undefined || candidate === undefined || candidate.loaded === null) return
    if (candidate.release.stop_when === null || (await this.#standing(name, candidate)).stopped) return
    const figures = await this.#judged(workflow, candidate)
    const isCompared = candidate.release.names.includes("agreement")
    const judged = isCompared ? { ...figures, ...(await this.#compared(name, candidate)) } : figures
    if (!mustStop(candidate.release, judged)) return
    await this.set(name, true)
    this.#parts.log.error(
      {
        workflow: name,
        version: candidate.version,
        current: judged.current,
        candidate: judged.candidate,
        agreement: judged.agreement,
        ...(judged.scores && { scores: judged.scores }),
      },
      "the candidate is stopped: its rule holds",
    )
  }

  async #judged({ name, serving }: NamedWorkflow, candidate: Candidate): Promise<Judged> {
    const { since } = await this.#standing(name, candidate)
    const { scores } = candidate.release
    const list = (release: Release, version: string | null): Promise<ListedRun[]> =>
      version === null
        ? Promise.resolve([])
        : this.#parts.store.list({
            ...allRuns,
            workflows: [name],
            version,
            release,
            status: "ended",
            since,
            // Scores come with previews.
            previews: scores !== undefined,
            limit: judgedRuns,
          })
    const [current, next] = await Promise.all([
      list("current", serving?.version ?? null),
      list("candidate", candidate.version),
    ])
    return {
      current: figuresOf(current),
      candidate: figuresOf(next),
      agreement: null,
      shadows: 0,
      ...(scores && { scores: { current: scoreFigures(current, scores), candidate: scoreFigures(next, scores) } }),
    }
  }

  /** What shadows of the candidate say. */
  async #compared(name: string, candidate: Candidate): Promise<Agreement> {
    if (candidate.version === null) return agreementOf([])
    const { since } = await this.#standing(name, candidate)
    const shadows = await this.#parts.store.list({
      ...allRuns,
      workflows: [name],
      version: candidate.version,
      release: "shadow",
      status: "ended",
      since,
      // Scores come with previews.
      previews: true,
      limit: judgedRuns,
    })
    return agreementOf(shadows)
  }

  #standing(name: string, candidate: Candidate): Promise<Standing> {
    const now = this.#parts.clock.monotonic()
    for (const [id, { until }] of this.#standings) if (until <= now) this.#standings.delete(id)
    const make = (): { readonly until: number; readonly standing: Promise<Standing> } => ({
      until: now + knownMs,
      standing: this.#read(name, candidate),
    })
    const { standing } = remembered(this.#standings, stoppedId(name, candidate), make)
    standing.catch(() => this.#standings.clear())
    return standing
  }

  async #read(name: string, candidate: Candidate): Promise<Standing> {
    const { triggers } = this.#parts.store
    const id = begunId(name, candidate)
    const [begun, stopped] = await Promise.all([triggers.pause(id), triggers.pause(stoppedId(name, candidate))])
    if (begun !== null) return { stopped: stopped?.paused === true, since: begun.at }
    const at = this.#parts.clock.now()
    await triggers.setPause(id, { paused: false, at })
    return { stopped: stopped?.paused === true, since: at }
  }
}

function begunId(name: string, { digest }: Candidate): string {
  return `release ${name} ${digest} begun`
}

function stoppedId(name: string, { digest }: Candidate): string {
  return `release ${name} ${digest} stopped`
}
