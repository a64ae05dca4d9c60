export interface SeenEvent {
  readonly id: number
  readonly type: string
  readonly data: Record<string, unknown>
}

/** The events of an SSE body, as they come; what is not an event goes to `other`. */
export async function* eventsOf(response: Response, other: string[] = []): AsyncGenerator<SeenEvent> {
  if (response.body === null) return
  let text = ""
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    text += chunk
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const frame = text.slice(0, end)
      text = text.slice(end + 2)
      const event = parseFrame(frame)
      if (event === undefined) other.push(frame)
      else yield event
    }
  }
}

export function parseFrame(frame: string): SeenEvent | undefined {
  const lines = frame.split("\n")
  const field = (name: string): string | undefined =>
    lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)
  const id = field("id")
  const type = field("event")
  const data = field("data")
  if (id === undefined || type === undefined || data === undefined) return undefined
  return { id: Number(id), type, data: JSON.parse(data) as Record<string, unknown> }
}

export function allEvents(response: Response): Promise<SeenEvent[]> {
  return collect(eventsOf(response))
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

export const isEnd = ({ type }: SeenEvent): boolean => /^workflow_(?:completed|failed|cancelled)$/.test(type)
