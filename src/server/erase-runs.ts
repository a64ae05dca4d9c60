import { valueAt } from "../ports/erasure.ts"
import type { ActionProgress, ErasurePlan, StoredAction } from "../ports/run-actions.ts"
import { Damaged, NoSuchRun, type RunStore } from "../ports/store.ts"
import { eraseRun, withThoseMadeFrom } from "../run/erase-run.ts"
import type { RouteDependencies } from "./route-dependencies.ts"

type Ports = Pick<RouteDependencies, "store" | "files" | "audit" | "countErased">

type Erasure = StoredAction<ErasurePlan>

/** A part of an erasure, short enough for its process to keep it. `isLate`: it is time to store the progress. */
export async function goOnErasing(
  ports: Ports,
  action: Erasure,
  isLate: () => boolean,
): Promise<{ readonly progress: ActionProgress; readonly isOver: boolean; readonly waits: boolean }> {
  const { plan } = action
  let progress = await erasePending(ports, action, isLate)
  let waits = false
  if ((progress.pending ?? []).length === 0) {
    if (progress.next < plan.until) progress = await findNext(ports.store, plan, progress, isLate)
    else if (plan.also_open && !plan.dry_run) {
      progress = await takeEnded(ports.store, progress)
      waits = (progress.pending ?? []).length === 0 && (progress.open ?? []).length > 0
    }
  }
  const isOver = progress.next >= plan.until && (progress.pending ?? []).length === 0 && !waits
  if (isOver && !plan.dry_run) {
    // The objects of its files are due.
    await ports.files?.sweepObjects()
    progress = await withoutGone(ports.store, progress)
  }
  return { progress, isOver, waits }
}

async function erasePending(
  { store, audit, countErased }: Ports,
  { id, caller, progress }: Erasure,
  isLate: () => boolean,
): Promise<ActionProgress> {
  const pending = [...(progress.pending ?? [])]
  const open = [...(progress.open ?? [])]
  let { done } = progress
  for (let run_id = pending[0]; run_id !== undefined && !isLate(); run_id = pending[0]) {
    const outcome = await eraseRun(store, run_id)
    pending.shift()
    if (outcome === "open") open.push(run_id)
    else done++
    if (outcome !== "erased") continue
    countErased()
    audit({ act: "erased", run_id, caller, id })
  }
  return { ...progress, pending, open, done }
}

/** Looks at the next slice of runs. What it finds is stored before any of it is erased. */
async function findNext(
  store: RunStore,
  plan: ErasurePlan,
  progress: ActionProgress,
  isLate: () => boolean,
): Promise<ActionProgress> {
  const { runs, next } = await store.erasure.slice({ ...plan, after: progress.next })
  const found = new Set<string>()
  const others = new Set(progress.others)
  const open = new Set(progress.open)
  const failed = [...progress.failed]
  let place = progress.next
  const upTo = (reached: number): ActionProgress => {
    if (!plan.dry_run) return { ...progress, next: reached, pending: [...found], failed }
    return {
      ...progress,
      next: reached,
      done: progress.done + found.size,
      others: [...others],
      open: [...open],
      failed,
    }
  }
  for (const run of runs) {
    if (isLate()) return upTo(place)
    place = run.place
    const holds = run.sure || (await holdsAll(store, run.run_id, plan))
    if (holds === null) failed.push({ run_id: run.run_id, message: "The request of the run cannot be read" })
    if (holds !== true) continue
    for (const one of await withThoseMadeFrom(store, run.run_id)) {
      if (!plan.dry_run) {
        // An open one was met before.
        if (!open.has(one)) found.add(one)
      } else if (await isOpen(store, one)) open.add(one)
      else if (one === run.run_id) found.add(one)
      // Those that hold the values are found by themselves.
      else if ((await holdsAll(store, one, plan)) !== true) others.add(one)
    }
  }
  return upTo(next)
}

async function isOpen(store: RunStore, run_id: string): Promise<boolean> {
  const found = await store.lookup(run_id)
  return found.found === "run" && found.run.finished_at === null
}

/** Null: its request cannot be read. */
async function holdsAll(
  store: RunStore,
  run_id: string,
  { where, workflow }: Pick<ErasurePlan, "where" | "workflow">,
): Promise<boolean | null> {
  try {
    const request = await store.request(run_id)
    if (workflow !== null && request.workflow?.name !== workflow) return false
    for (const { path, digest } of where) {
      const value = valueAt(request.input, path)
      if (value === undefined || (await store.erasure.digest(path, value)) !== digest) return false
    }
    return true
  } catch (error) {
    if (error instanceof NoSuchRun) return false
    if (error instanceof Damaged) return null
    throw error
  }
}

/** Open shadows go with the runs that they shadow. */
async function withoutGone(store: RunStore, progress: ActionProgress): Promise<ActionProgress> {
  const open: string[] = []
  for (const run_id of progress.open ?? []) if ((await store.lookup(run_id)).found === "run") open.push(run_id)
  return { ...progress, open, done: progress.done + (progress.open ?? []).length - open.length }
}

/** Open runs that have ended since go next. */
async function takeEnded(store: RunStore, progress: ActionProgress): Promise<ActionProgress> {
  const open: string[] = []
  const pending: string[] = []
  for (const run_id of progress.open ?? []) {
    if (await isOpen(store, run_id)) open.push(run_id)
    else pending.push(...(await withThoseMadeFrom(store, run_id)))
  }
  return { ...progress, open, pending: [...new Set(pending)].filter((run_id) => !open.includes(run_id)) }
}
