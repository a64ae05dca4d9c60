import type { News } from "../../store/sql-medium.ts"

// What processes announce to each other with a commit: `12 e4f…,c9a…` is what the process 12 did to two runs.

/** A payload must be shorter than 8,000 bytes. */
const payloadBytes = 7_500
/** With more of them, everyone looks at everything instead. */
const maxPayloads = 8

const letters = { events: "e", cancel: "c", outcome: "o", all: "*" } as const satisfies Record<News["what"], string>

export function payloadsOf(writer: string, news: readonly News[]): string[] {
  const items = new Set(news.map(({ what, run_id }) => `${letters[what]}${run_id}`))
  const payloads: string[] = []
  let line = ""
  for (const item of items) {
    if (line !== "" && Buffer.byteLength(line) + Buffer.byteLength(item) > payloadBytes) {
      payloads.push(line)
      line = ""
    }
    line = line === "" ? item : `${line},${item}`
  }
  if (line !== "") payloads.push(line)
  const all = payloads.length > maxPayloads ? [letters.all] : payloads
  return all.map((payload) => `${writer} ${payload}`)
}

/** Nothing of what this process has announced itself. */
export function newsIn(payload: string, writer: string): News[] {
  const space = payload.indexOf(" ")
  if (payload.slice(0, space) === writer) return []
  return payload
    .slice(space + 1)
    .split(",")
    .flatMap((item) => {
      const what = (Object.keys(letters) as News["what"][]).find((one) => item.startsWith(letters[one]))
      return what === undefined ? [] : [{ what, run_id: item.slice(1) }]
    })
}
