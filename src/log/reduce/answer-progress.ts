import type { Question } from "../events.ts"

export interface AnswerProgress {
  readonly name: string
  /** Answered, or expired with a value in place of the answer. */
  readonly settled: number
  readonly total: number
}

/** How far people are with the questions of each loop, in the order of their first questions. */
export function answerProgress(questions: readonly Question[]): AnswerProgress[] {
  const loops = new Map<string, { settled: number; total: number }>()
  for (const { kind, name, iteration, status } of questions) {
    if (kind !== "ask" || iteration === undefined) continue
    const loop = loops.get(name) ?? { settled: 0, total: 0 }
    loop.total++
    if (status === "answered" || status === "expired") loop.settled++
    loops.set(name, loop)
  }
  return [...loops].map(([name, loop]) => ({ name, ...loop }))
}
