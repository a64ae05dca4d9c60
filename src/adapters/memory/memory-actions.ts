import {
  noProgress,
  type ActionProgress,
  type ActionStore,
  type NewAction,
  type StoredAction,
} from "../../ports/run-actions.ts"

interface Kept {
  readonly action: StoredAction
  readonly due_at: number | null
  readonly until: number
}

export class MemoryActions implements ActionStore {
  readonly #actions = new Map<string, Kept>()

  async add(action: NewAction, due_at: number, until: number): Promise<void> {
    this.#actions.set(action.id, {
      action: { ...action, progress: noProgress, completed: false, revision: 1 },
      due_at,
      until,
    })
  }

  async read(id: string): Promise<StoredAction | null> {
    return this.#actions.get(id)?.action ?? null
  }

  async advance(id: string, read: number, progress: ActionProgress, due_at: number | null): Promise<boolean> {
    const found = this.#actions.get(id)
    if (found?.action.revision !== read) return false
    const action = { ...found.action, progress, completed: due_at === null, revision: read + 1 }
    this.#actions.set(id, { ...found, action, due_at })
    return true
  }

  async due(now: number, limit: number): Promise<readonly string[]> {
    const due = [...this.#actions].flatMap(([id, { due_at }]) =>
      due_at !== null && due_at <= now ? [{ id, due_at }] : [],
    )
    due.sort((a, b) => a.due_at - b.due_at)
    return due.slice(0, limit).map(({ id }) => id)
  }

  sweep(now: number): void {
    for (const [id, { until }] of this.#actions) if (until <= now) this.#actions.delete(id)
  }
}
