import type { JsonValue } from "../base/json-value.ts"
import type { AnsweredBy, LogEvent, Question, QuestionStatus } from "../log/events.ts"

// Questions to people, and the runs that wait for their answers, as a store keeps them.
//
// Everything begins with an append: `question_asked` opens its question in the same step, `question_answered` and
// `question_expired` say that the run has taken the outcome in, a terminal event withdraws what is open. `run_waiting`, the
// last event of its append, parks the run. So there is no moment in which the log and the questions disagree.

export interface GivenAnswer {
  readonly answer: JsonValue
  readonly answered_by: AnsweredBy
}

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

/** Whether the query is for a question of a caller's run: what an index says of it is not enough. */
export function isFor({ caller, groups, member_of, to }: InboxQuery, ofRun: string, asked: string | null): boolean {
  const theirs = asked !== null && groups.includes(asked) ? member_of.includes(asked) : ofRun === caller
  return theirs && (to === null || to === asked)
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

/** A page of questions ends when they have taken this many bytes in the store. */
export const questionPageBytes = 1024 * 1024

/** An outcome that the log does not show yet. */
export interface StoredOutcome extends Pick<Question, "answer" | "answered_by"> {
  readonly id: string
  readonly status: Exclude<QuestionStatus, "open">
}

export interface WaitingCounts {
  /** Runs that are parked. */
  readonly runs: number
  /** Open questions, including those that have expired without the expiry being stored yet. */
  readonly questions: number
  /** When the oldest of them was asked; null without any. */
  readonly oldest_asked_at: number | null
}

export interface QuestionStore {
  /** The questions of a run; none for a run that does not exist. Past its time an open one is `expired`. */
  ofRun(run_id: string, limit: number, after: string | null): Promise<QuestionPage>
  one(run_id: string, id: string): Promise<Question | null>
  inbox(query: InboxQuery): Promise<QuestionPage>
  /**
   * Stores the answer as the question's outcome, once and for all, and wakes the run if it is parked. The first of answer,
   * expiry and withdrawal wins; from `expires_at` on an answer loses by the store's clock, whether or not anybody has noticed
   * the expiry. Null where there is no such question.
   */
  answer(run_id: string, id: string, given: GivenAnswer): Promise<AnswerOutcome | null>
  /** Stores the expiry of open questions whose time has come, and wakes the runs that are parked. How many; cheap where none is due. */
  expire(): Promise<number>
  /** Those of the run's questions that the log does not show yet, the oldest question first. */
  outcomes(run_id: string): Promise<StoredOutcome[]>
  /**
   * Calls back with a run's id when an outcome of one of its questions was stored, or a parked run was cancelled, by whatever
   * process: at once as a rule, within five seconds in any case, perhaps more than once. The result stops listening.
   */
  onOutcome(listener: (run_id: string) => void): () => void
  /** How many runs of the caller are parked. */
  waiting(caller: string): Promise<number>
  /** Counts for all callers, for an operator. May be some seconds old. */
  waitingCounts(): Promise<WaitingCounts>
}

/** The questions that an append opens, and the ids of those whose outcomes it takes in. */
export function questionsIn(events: readonly LogEvent[]): {
  readonly asked: readonly Extract<LogEvent, { type: "question_asked" }>[]
  readonly taken: readonly string[]
} {
  const asked: Extract<LogEvent, { type: "question_asked" }>[] = []
  const taken: string[] = []
  for (const event of events) {
    if (event.type === "question_asked") asked.push(event)
    else if (event.type === "question_answered" || event.type === "question_expired") taken.push(event.data.id)
  }
  return { asked, taken }
}

/** The first of these that fit on a page. `bytes`: what one of them takes. */
export function cutPage<Item>(
  items: readonly Item[],
  limit: number,
  bytes: (item: Item) => number,
): { readonly fitting: readonly Item[]; readonly more: boolean } {
  let taken = 0
  let count = 0
  for (const item of items.slice(0, limit)) {
    taken += bytes(item)
    if (count > 0 && taken > questionPageBytes) break
    count++
  }
  return { fitting: items.slice(0, count), more: count < items.length }
}
