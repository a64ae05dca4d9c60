import type { AskedQuestion, EventData } from "./events.ts"

/** The question of an event, without what the event alone has. */
export function askedQuestion(data: EventData["question_asked"] & { readonly at?: string }): AskedQuestion {
  const { call_id: _call, agent: _agent, dynamic: _dynamic, calls: _calls, at: _at, ...question } = data
  return question
}
