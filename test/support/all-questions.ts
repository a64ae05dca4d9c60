import type { Question } from "../../src/log/events.ts"
import type { QuestionPage } from "../../src/ports/question-store.ts"
import type { RunStore } from "../../src/ports/store.ts"

/** All questions of a run, oldest first, page by page. */
export async function allQuestions(store: Pick<RunStore, "questions">, run_id: string): Promise<Question[]> {
  const all: Question[] = []
  for (let after: string | null = null; ;) {
    const { found, next }: QuestionPage = await store.questions.ofRun(run_id, 100, after)
    all.push(...found.map(({ question }) => question))
    if (next === null) return all
    after = next
  }
}
