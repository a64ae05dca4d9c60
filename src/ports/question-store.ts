import { isoTime } from "../base/iso-time.ts"
import type { Question, QuestionStatus } from "../log/events.ts"
import type { GivenAnswer, Wait, WaitFilter, WaitOutcome, WaitPage, WaitStatus, WaitStore } from "./waits.ts"

export type { GivenAnswer }

/** `stored`: this answer is the outcome. Otherwise the question as it stands: its status says why the answer came too late. */
export interface AnswerOutcome {
  readonly stored: boolean
  readonly question: Question
}

/** Which questions a caller finds: those of the groups that it is a member of, and those of its own runs that no group answers. */
export interface InboxQuery {
  readonly caller: string
  /** The names of all groups, and of those among them that the caller is a member of. */
  readonly groups: readonly string[]
  readonly member_of: readonly string[]
  readonly status: QuestionStatus
  /** Only questions to this group, or with this label; null for all. */
  readonly to: string | null
  readonly limit: number
  /** The position of the last question of the page before; null for the first page. */
  readonly after: string | null
}

/** A question, and its position: a page may begin after it. */
export interface PlacedQuestion {
  readonly question: Question
  readonly position: string
}

/** A part of a list of questions. */
export interface QuestionPage {
  /** Oldest first. Fewer than were asked for where they are large. */
  readonly found: readonly PlacedQuestion[]
  /** Where the page after it begins; null for the last one. */
  readonly next: string | null
}

/** An outcome that the log does not show yet. */
export interface StoredOutcome extends Pick<Question, "answer" | "answered_by"> {
  readonly id: string
  readonly status: Exclude<QuestionStatus, "open">
}

const statuses = { open: "open", settled: "answered", due: "expired", withdrawn: "withdrawn" } as const
const waitStatuses: Readonly<Record<QuestionStatus, WaitStatus>> = {
  open: "open",
  answered: "settled",
  expired: "due",
  withdrawn: "withdrawn",
}

/** Questions to people: the waits of the kind `question`, of any store. */
export class Questions {
  readonly #waits: WaitStore

  constructor(waits: WaitStore) {
    this.#waits = waits
  }

  /** The questions of a run; none for a run that does not exist. Past its time an open one is `expired`. */
  async ofRun(run_id: string, limit: number, after: string | null): Promise<QuestionPage> {
    return pageOf(await this.#waits.ofRun(run_id, "question", limit, after))
  }

  async one(run_id: string, id: string): Promise<Question | null> {
    const wait = await this.#waits.one(run_id, "question", id)
    return wait === null ? null : questionOf(wait)
  }

  async inbox({ caller, groups, member_of, status, to, limit, after }: InboxQuery): Promise<QuestionPage> {
    const any: WaitFilter[] = []
    for (const group of member_of) if (to === null || to === group) any.push({ key: group })
    if (to === null) any.push({ caller, butKeys: groups })
    else if (!groups.includes(to)) any.push({ caller, key: to })
    const query = { kind: "question", status: waitStatuses[status], any, limit, after } as const
    return pageOf(await this.#waits.list(query))
  }

  /** Stores the answer as the question's outcome (`WaitStore.settle`). Null where there is no such question. */
  async answer(run_id: string, id: string, given: GivenAnswer): Promise<AnswerOutcome | null> {
    const settling = await this.#waits.settle(run_id, "question", id, given)
    return settling === null ? null : { stored: settling.stored, question: questionOf(settling.wait) }
  }
}

/** The outcomes of questions among those of a run. */
export function answersIn(outcomes: readonly WaitOutcome[]): StoredOutcome[] {
  return outcomes.flatMap(({ kind, id, status, outcome }) =>
    kind === "question" ? [{ id, status: statuses[status], ...outcome }] : [],
  )
}

function questionOf({ about, status, outcome, settled_at }: Wait<"question">): Question {
  const question = { ...about, status: statuses[status], ...outcome }
  return settled_at === null || status !== "settled" ? question : { ...question, answered_at: isoTime(settled_at) }
}

function pageOf({ found, next }: WaitPage<"question">): QuestionPage {
  return { found: found.map(({ wait, position }) => ({ question: questionOf(wait), position })), next }
}
