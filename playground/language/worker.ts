import type { Question, Reply } from "./answers.ts"
import { answer } from "./answers.ts"

// The language in a thread of its own: however long a text takes to check, the page stays free for the next key.

addEventListener("message", ({ data }: MessageEvent<Question>) => postMessage(replyTo(data)))

function replyTo(question: Question): Reply {
  try {
    return { id: question.id, answer: answer(question) }
  } catch (error) {
    return { id: question.id, failed: error instanceof Error ? error.message : String(error) }
  }
}
