import type { JsonValue } from "../base/json-value.ts"
import type { Question } from "../log/events.ts"

export interface AnswerOptions {
  readonly signal?: AbortSignal
  /** For an approval. Default: the digest of the question as this object has seen it. */
  readonly digest?: string
  /** A label for the person who answers, of up to 200 characters. */
  readonly by?: string
}

/** A run that may ask people. */
export interface AskingRun {
  readonly run_id: string
  /** All questions of the run, oldest first. */
  readonly questions: (options?: { readonly signal?: AbortSignal }) => Promise<readonly Question[]>
  /** Answers a question; the result is the question with its answer. Rejects with a `WireworksError` of kind `conflict` when it is too late. */
  readonly answer: (id: string, answer: JsonValue, options?: AnswerOptions) => Promise<Question>
}

/** The run waits for people: `execute` has no output yet. The run goes on when it is answered. */
export class RunWaiting extends Error {
  readonly run: AskingRun
  /** What it waits for. */
  readonly questions: readonly Question[]

  constructor(run: AskingRun, questions: readonly Question[]) {
    super(
      `The run ${run.run_id} waits for the answers to ${questions.length} question${questions.length === 1 ? "" : "s"}`,
    )
    this.name = "RunWaiting"
    this.run = run
    this.questions = questions
  }

  get run_id(): string {
    return this.run.run_id
  }
}
