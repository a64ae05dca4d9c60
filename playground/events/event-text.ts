import type { StreamEvent } from "../../src/client/client.ts"

/** An event as it came over the wire. */
export function eventText({ id, type, data }: StreamEvent): string {
  return `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n`
}

const searchable = new WeakMap<StreamEvent, string>()

/** Whether the event contains every word of the filter. */
export function matches(event: StreamEvent, words: readonly string[]): boolean {
  if (words.length === 0) return true
  let text = searchable.get(event)
  if (text === undefined) searchable.set(event, (text = eventText(event).toLowerCase()))
  return words.every((word) => text.includes(word))
}

export function filterWords(filter: string): string[] {
  return filter
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "")
}

/** Whom an event is about: `agent.review[2]`, `tool.find`. */
export function subjectOf({ data }: StreamEvent): string {
  const fields = data as Record<string, unknown>
  const iteration = typeof fields["iteration"] === "number" ? `[${fields["iteration"]}]` : ""
  const parts = [
    typeof fields["agent"] === "string" ? `agent.${fields["agent"]}${iteration}` : "",
    typeof fields["step"] === "string" ? `${fields["step"]}${iteration}` : "",
    typeof fields["dynamic"] === "string" ? `dynamic.${fields["dynamic"]}` : "",
    typeof fields["tool"] === "string" ? `tool.${fields["tool"]}` : "",
    typeof fields["server"] === "string" && fields["tool"] === undefined ? `mcp.${fields["server"]}` : "",
    typeof fields["name"] === "string" ? fields["name"] : "",
  ]
  return parts.filter((part) => part !== "").join(" · ")
}
