import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type { AskedQuestion, LogEvent } from "../../log/events.ts"
import type { GivenAnswers } from "./given-answers.ts"
import { promptForAnswer, questionLines, questionPath, questionSubject } from "../terminal/question-prompt.ts"
import type { Palette } from "../terminal/terminal.ts"
import { InputEnded, type TerminalLines } from "../terminal/terminal-lines.ts"
import { visibleText } from "../../base/visible-text.ts"

/** What answering needs of the run and of the terminal. */
export interface AnswerPorts {
  /** Resolves to the sentences that say why the answer is refused; none where it is taken. */
  readonly answer: (question: AskedQuestion, answer: JsonValue) => Promise<readonly string[]>
  /** Nobody can answer: the run is to end. */
  readonly giveUp: () => void
  /** The terminal belongs to a question, or to the progress again. */
  readonly pause: () => void
  readonly goOn: () => void
  readonly write: (line: string) => void
  /** Null where there is no terminal. */
  readonly lines: (() => TerminalLines) | null
  readonly bug: (error: unknown) => void
  readonly palette: Palette
  /** Width of the terminal. */
  readonly columns: number
}

/** Answers the questions of a run: from the command line, else from the person at the terminal, one after the other. */
export class Answering {
  readonly #given: GivenAnswers
  readonly #ports: AnswerPorts
  readonly #open = new Map<string, AbortController>()
  readonly #missing: string[] = []
  #queue: Promise<void> = Promise.resolve()

  constructor(given: GivenAnswers, ports: AnswerPorts) {
    this.#given = given
    this.#ports = ports
  }

  event({ type, data }: LogEvent): void {
    if (type === "question_asked") this.#asked(data)
    else if (type === "question_answered" || type === "question_expired" || type === "question_withdrawn")
      this.#settled(data.id)
  }

  /** The run has ended: no more questions are asked. Returns a sentence for each missing answer. */
  async end(): Promise<readonly string[]> {
    for (const id of this.#open.keys()) this.#settled(id)
    await this.#queue
    return this.#missing
  }

  #asked(question: AskedQuestion): void {
    const given = this.#given.to(question)
    if ("answer" in given) this.#give(question, given.answer).catch(this.#ports.bug)
    else this.#ask(question, given)
  }

  /** Answers as the command line says; where that is refused, the person at the terminal is asked. */
  async #give(question: AskedQuestion, answer: JsonValue): Promise<void> {
    const refused = await this.#ports.answer(question, answer)
    if (refused.length === 0) return
    this.#refuse(question, refused)
    if (this.#ports.lines !== null) return this.#ask(question, { known: {}, missing: [] })
    const subject = questionSubject(question)
    this.#missing.push(`The answer to ${subject} is refused: give another with --answer or --answers FILE.`)
    this.#ports.giveUp()
  }

  #refuse(question: AskedQuestion, refused: readonly string[]): void {
    const { write, palette } = this.#ports
    for (const sentence of refused) write(`${palette.error(`ask.${questionPath(question)}:`)} ${visibleText(sentence)}`)
  }

  #ask(question: AskedQuestion, given: { readonly known: JsonObject; readonly missing: readonly string[] }): void {
    const { lines } = this.#ports
    if (lines === null) return this.#lacks(question, given.missing)
    const closed = new AbortController()
    this.#open.set(question.id, closed)
    this.#queue = this.#queue.then(() => this.#prompt(question, given, closed.signal, lines)).catch(this.#ports.bug)
  }

  async #prompt(
    question: AskedQuestion,
    { known, missing }: { readonly known: JsonObject; readonly missing: readonly string[] },
    signal: AbortSignal,
    open: () => TerminalLines,
  ): Promise<void> {
    if (signal.aborted) return
    const { write, palette, pause, goOn, answer, columns } = this.#ports
    pause()
    const lines = open()
    try {
      const read = (prompt: string): Promise<string> => lines.next(prompt, signal)
      for (let asked = known; ; asked = {}) {
        const given = await promptForAnswer(question, asked, { write, read, columns }, palette)
        const refused = await answer(question, given)
        if (refused.length === 0) break
        this.#refuse(question, refused)
      }
    } catch (error) {
      if (error instanceof InputEnded) this.#lacks(question, missing)
      else if (!signal.aborted) throw error
      // The prompt is left as it is, and what follows begins on a line of its own.
      else write("")
    } finally {
      lines.close()
      goOn()
    }
  }

  /** Another prompt, which has the terminal when it is its turn. */
  inTurn(ask: (lines: TerminalLines) => Promise<void>): Promise<void> {
    const { lines: open, pause, goOn } = this.#ports
    if (open === null) return Promise.resolve()
    const turn = this.#queue.then(async () => {
      pause()
      const lines = open()
      try {
        await ask(lines)
      } finally {
        lines.close()
        goOn()
      }
    })
    this.#queue = turn.catch(this.#ports.bug)
    return turn
  }

  #settled(id: string): void {
    this.#open.get(id)?.abort(new Error("The question is closed"))
    this.#open.delete(id)
  }

  #lacks(question: AskedQuestion, missing: readonly string[]): void {
    const { kind, iteration } = question
    const subject = questionSubject(question)
    const path = questionPath(question)
    const place = iteration === undefined ? path : `${path}[${iteration}]`
    const fields = missing.map((field) => `--answer ${place}.${field}=…`).join(" ")
    const [what, how] = {
      ask: [`${subject} needs an answer`, `${fields}, or --answers FILE`],
      approval: [`a call of ${subject} needs an approval`, `--approve ${path}`],
      elicitation: [`the server of ${subject} needs an answer`, "--answers FILE"],
    }[kind]
    if (this.#ports.lines === null)
      for (const line of questionLines(question, this.#ports.palette)) this.#ports.write(line)
    this.#missing.push(visibleText(`Missing: ${what}. Give it with ${how}.`))
    this.#ports.giveUp()
  }
}
