import type { Question } from "../log/events.ts"
import type { QuestionPage } from "../ports/question-store.ts"
import { ListPage } from "./list-page.ts"

export interface WrittenQuestions {
  readonly page: ListPage
  /** `after` of the next page; null on the last one. */
  readonly next: string | null
}

/** Writes those that are wanted until the page is full, or has `limit` of them. `read` gives those after a position, at most so many. */
export async function writeQuestions(
  limit: number,
  after: string | null,
  read: (limit: number, after: string | null) => Promise<QuestionPage>,
  isWanted: (question: Question) => boolean = () => true,
): Promise<WrittenQuestions> {
  const page = new ListPage()
  let last = after
  let left = limit
  for (;;) {
    const { found, next } = await read(left, last)
    for (const { question, position } of found) {
      if (isWanted(question)) {
        if (left === 0 || !(await page.add(question))) return { page, next: last }
        left--
      }
      last = position
    }
    if (next === null || left === 0) return { page, next }
    last = next
  }
}
