import type { Seeded } from "./seeded.ts"
import { about, beginning, type Topic } from "./topic.ts"

/** The place that a string is made for. */
export interface StringPlace {
  /** Name of the field, or of the array that the string is an element of. */
  readonly name: string
  readonly description: string
  /** Tells elements of one array apart. */
  readonly index: number
  readonly format: string
  readonly topic: Topic
  readonly seed: Seeded
}

type Maker = (place: StringPlace) => string

/** Text for a string field. Nothing here knows an answer: names of fields and words of the instruction have to do. */
export function makeString(place: StringPlace): string {
  const byFormat = formats[place.format]
  if (byFormat !== undefined) return byFormat(place)
  const words = splitName(place.name)
  const { greets } = place.topic
  if (greets !== null && place.index === 0 && (words.length === 0 || words.some((word) => greetable.has(word)))) {
    return `Hello, ${greets}.`
  }
  // The last word of a name says what it is (`file_path`), the description only when the name says nothing.
  for (const word of [...words].reverse()) {
    const maker = makers.get(word)
    if (maker !== undefined) return maker(place)
  }
  for (const word of splitName(place.description)) {
    const maker = makers.get(word)
    if (maker !== undefined && specific.has(word)) return maker(place)
  }
  return `Demo ${words.length === 0 ? "text" : words.join(" ")} ${place.index > 0 ? `${place.index + 1} ` : ""}on ${about(place.topic, 3, place.index * 3)}`
}

/** `filePath`, `file_path` and `file-path` alike. */
function splitName(name: string): string[] {
  return name
    .replace(/([a-z\d])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^\p{L}\d]+/u)
    .filter((word) => word !== "")
}

const greetable = new Set(
  "message greeting greetings hello text reply response answer content output result welcome salutation".split(" "),
)

const people = ["Ada Lovelace", "Alan Turing", "Grace Hopper", "Edsger Dijkstra", "Barbara Liskov"] as const
const cities = ["Lisbon", "Kyoto", "Oslo", "Nairobi", "Quito"] as const
const colors = ["teal", "amber", "crimson", "indigo"] as const

const formats: Readonly<Record<string, Maker>> = {
  "date-time": (place) => `${date(place)}T0${place.seed.below(10)}:30:00Z`,
  date: (place) => date(place),
  time: (place) => `0${place.seed.below(10)}:30:00Z`,
  duration: () => "PT15M",
  email: (place) => email(place),
  hostname: () => "demo.example.com",
  ipv4: (place) => `192.0.2.${place.seed.below(255)}`,
  ipv6: () => "2001:db8::1",
  uri: (place) => url(place),
  "uri-reference": (place) => url(place),
  url: (place) => url(place),
  uuid: (place) => uuid(place.seed),
}

const groups: readonly (readonly [string, Maker])[] = [
  ["title headline heading subject topic", (place) => capitalise(about(place.topic, 4, place.index * 4))],
  ["path file filename filepath", (place) => nth(place.topic.paths, place.index) ?? `src/demo-${place.index + 1}.ts`],
  ["url uri link href website homepage endpoint", (place) => url(place)],
  ["email mail", (place) => email(place)],
  ["date day deadline due", (place) => date(place)],
  ["id key identifier slug code ref", (place) => `demo-${place.seed.below(0xffff).toString(16).padStart(4, "0")}`],
  ["uuid guid", (place) => uuid(place.seed)],
  [
    "name author person user owner assignee reviewer customer",
    (place) => nth(place.topic.names, place.index) ?? place.seed.pick(people),
  ],
  ["city town place location", (place) => nth(place.topic.names, place.index) ?? place.seed.pick(cities)],
  ["country", () => "Portugal"],
  ["language lang locale", () => "en"],
  ["currency", () => "EUR"],
  ["color colour", (place) => place.seed.pick(colors)],
  ["phone telephone", (place) => `+1-555-01${String(place.seed.below(100)).padStart(2, "0")}`],
  ["version", (place) => `1.${place.seed.below(10)}.0`],
  [
    "query search keyword term tag label category keywords tags labels categories terms words",
    (place) => about(place.topic, isPlural(place) ? 1 : 3, place.index),
  ],
  ["quote excerpt", (place) => nth(place.topic.quotes, place.index) ?? beginning(place.topic.instruction, 60)],
  ["patch diff", (place) => `- ${about(place.topic, 3)}\n+ ${about(place.topic, 3, 3)}`],
  ["question questions", (place) => `What about ${about(place.topic, 3, place.index * 3)}?`],
  [
    "translation",
    (place) => `(demo translation) ${nth(place.topic.quotes, 0) ?? beginning(place.topic.instruction, 80)}`,
  ],
  [
    "summary abstract overview digest synopsis tldr",
    (place) => `Demo summary, written by no real model: ${beginning(place.topic.instruction, 120)}`,
  ],
  [
    "answer reply response message text content body output result description explanation analysis report verdict review essay story letter",
    (place) => `The demo model, not a real one, says of ${about(place.topic, 5, place.index * 5)}: all is well.`,
  ],
  [
    "reason reasons rationale why justification comment note notes advice suggestion recommendation feedback",
    (place) => `Because of ${about(place.topic, 3, place.index * 3 + 1)}, says the demo.`,
  ],
]

const makers: ReadonlyMap<string, Maker> = new Map(
  groups.flatMap(([words, maker]) => words.split(" ").map((word): [string, Maker] => [word, maker])),
)

/** Words of a description that say what a string looks like; the others are too common to go by. */
const specific = new Set(
  "path file url link email date uuid city country currency summary question translation".split(" "),
)

function nth(items: readonly string[], index: number): string | undefined {
  return items[index]
}

function isPlural(place: StringPlace): boolean {
  return place.name.endsWith("s")
}

function capitalise(text: string): string {
  return text.replace(/(?<=^|\s)\p{Ll}/gu, (letter) => letter.toUpperCase())
}

function date(place: StringPlace): string {
  const found = place.topic.date
  const day = String(1 + place.seed.below(28)).padStart(2, "0")
  return found ?? `2026-${String(1 + place.seed.below(12)).padStart(2, "0")}-${day}`
}

function email(place: StringPlace): string {
  return nth(place.topic.emails, place.index) ?? `${place.seed.pick(people).split(" ")[0]?.toLowerCase()}@example.com`
}

function url(place: StringPlace): string {
  return (
    nth(place.topic.urls, place.index) ??
    `https://example.com/${about(place.topic, 2, place.index).replaceAll(" ", "-")}`
  )
}

function uuid(seed: Seeded): string {
  const hex = Array.from({ length: 32 }, () => seed.below(16).toString(16)).join("")
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`
}
