import { isoTime } from "../base/iso-time.ts"
import type { JsonValue } from "../base/json-value.ts"
import type { AnsweredBy, AskedQuestion, Question, QuestionStatus } from "../log/events.ts"
import type { GivenAnswer } from "../ports/question-store.ts"
import type { DataKey } from "../ports/vault.ts"
import type { Row } from "./sql.ts"

const statuses: readonly QuestionStatus[] = ["open", "answered", "expired", "withdrawn"]

export function storedStatus(row: Row): QuestionStatus {
  return statuses[row["status"] as number] ?? "open"
}

// What sealed things are about: changing these makes what is stored unreadable.

export function sealQuestion(key: DataKey, question: AskedQuestion): Uint8Array {
  return key.seal(`question ${question.id}`, JSON.stringify(question))
}

export function sealAnswer(key: DataKey, id: string, given: GivenAnswer): Uint8Array {
  return key.seal(`answer ${id}`, JSON.stringify(given))
}

export function openQuestion(key: DataKey, row: Row, now: number): Question {
  const id = row["id"] as string
  const question = JSON.parse(key.open(`question ${id}`, row["body"] as Uint8Array)) as AskedQuestion
  const stored = storedStatus(row)
  const status = stored === "open" && (row["expires_at"] as number) <= now ? "expired" : stored
  if (status !== "answered") return { ...question, status }
  const given = openAnswer(key, id, row["answer"])
  return { ...question, status, ...given, answered_at: isoTime(row["answered_at"] as number) }
}

export function openAnswer(key: DataKey, id: string, sealed: unknown): { answer: JsonValue; answered_by: AnsweredBy } {
  return JSON.parse(key.open(`answer ${id}`, sealed as Uint8Array)) as { answer: JsonValue; answered_by: AnsweredBy }
}
