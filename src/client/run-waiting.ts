import type { JsonValue } from "../base/json-value.ts"
import type { Question, WaitingFor } from "../log/events.ts"
import type { CallOptions } from "./service-calls.ts"
import type { AnswerBody } from "../api/questions.ts"

export interface AnswerOptions extends CallOptions {
  /** For an approval. Default: the digest of the question as this object has seen it. */
  readonly digest?: string
  /** A label for the person who answers, of up to 200 characters. */
  readonly by?: string
}

/** A run that may ask people. */
export interface AskingRun {
  readonly run_id: string
  /** All questions of the run, oldest first. */
  readonly questions: (options?: CallOptions) => Promise<readonly Question[]>
  /** Answers a question; the result is the question with its answer. Rejects with a `WireworksError` of kind `conflict` when it is too late. */
  readonly answer: (id: string, answer: JsonValue, options?: AnswerOptions) => Promise<Question>
}

/** The run waits for people: `execute` has no output yet. The run goes on when it is answered. */
export class RunWaiting extends Error {
  readonly run: AskingRun
  /** The questions that the run waits for. */
  readonly questions: readonly Question[]

  /** The times and events that the run waits for. */
  readonly waits: WaitingFor["waits"]

  constructor(run: AskingRun, questions: readonly Question[], waits: WaitingFor["waits"] = []) {
    const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? "" : "s"}`
    const what =
      questions.length > 0 || waits.length === 0
        ? `the answers to ${counted(questions.length, "question")}`
        : counted(waits.length, waits.every(({ event }) => event === undefined) ? "time" : "event")
    super(`The run ${run.run_id} waits for ${what}`)
    this.name = "RunWaiting"
    this.run = run
    this.questions = questions
    this.waits = waits
  }

  get run_id(): string {
    return this.run.run_id
  }
}

interface QuestionClient {
  questions(run_id: string, options: CallOptions): Promise<readonly Question[]>
  answer(run_id: string, id: string, body: AnswerBody, options: CallOptions): Promise<Question>
}

/** The questions of a run, and answers to them. */
export function askingRun(client: QuestionClient, run_id: string, known: readonly Question[]): AskingRun {
  // An approval is answered with the digest of what the person has seen.
  const digests = new Map<string, string>()
  const see = (seen: readonly Question[]): void => {
    for (const { id, digest } of seen) if (digest !== undefined) digests.set(id, digest)
  }
  see(known)
  const questions = async (options: CallOptions = {}): Promise<readonly Question[]> => {
    const found = await client.questions(run_id, options)
    see(found)
    return found
  }
  const answer = (id: string, given: JsonValue, options: AnswerOptions = {}): Promise<Question> => {
    const digest = options.digest ?? digests.get(id)
    const body = { answer: given, ...(digest === undefined ? {} : { digest }) }
    return client.answer(run_id, id, options.by === undefined ? body : { ...body, by: options.by }, options)
  }
  return { run_id, questions, answer }
}
