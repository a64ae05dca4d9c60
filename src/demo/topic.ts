/** What an instruction is about, as far as its words show without understanding them. */
export interface Topic {
  readonly instruction: string
  /** The same in lower case. */
  readonly lower: string
  /** It speaks of doubt. */
  readonly doubts: boolean
  /** The first date in it. */
  readonly date: string | null
  /** Content words in their order, each once, in lower case. */
  readonly words: readonly string[]
  /** Capitalised words that do not begin a sentence, and whom a greeting greets. */
  readonly names: readonly string[]
  readonly numbers: readonly number[]
  readonly urls: readonly string[]
  readonly emails: readonly string[]
  /** `src/run/agent/agent.ts` */
  readonly paths: readonly string[]
  /** Strings between quotes. */
  readonly quotes: readonly string[]
  /** The person to greet, where the instruction asks for a greeting. */
  readonly greets: string | null
}

const maxRead = 4_000

const stopWords = new Set(
  `a about above after again all also am an and any are as at be because been before being below between both but by can could
  did do does doing down during each else few for from further get give given go had has have having he her here hers him
  his how i if in into is it its just let like make many may me more most must my no nor not now of off on once one only
  or other our out over own please put same see she should so some such than that the their them then there these they
  this those through to too under until up us use very was we were what when where which while who whom why will with
  would write you your answer return reply respond json field fields object following using based
  summarise summarize review find list describe explain translate generate create greet tell extract classify decide`.split(
    /\s+/,
  ),
)

export function readTopic(instruction: string): Topic {
  const text = instruction.slice(0, maxRead)
  const urls = unique(text.match(/https?:\/\/[^\s"'<>)\]}]+/g) ?? [])
  const emails = unique(text.match(/(?<![\w.+-])[\w.+-]+@[\w-]+\.[\w.]+\b/g) ?? [])
  const plain = text.replace(/https?:\/\/\S+/g, " ").replace(/(?<![\w.+-])[\w.+-]+@[\w.-]+/g, " ")
  const paths = unique(
    plain.match(
      /(?<![\w./-])(?:[\w.-]+\/){1,20}[\w.-]+\.\w{1,5}\b|(?<![\w./-])[\w-]+\.(?:ts|js|py|go|rs|md|json|txt|wire)\b/g,
    ) ?? [],
  )
  const greets =
    /\b(?:greet|welcome|say (?:hello|hi) to|hello to)\s+([\p{L}][\p{L}\p{M}'\u2019 -]{0,60}?)\s*(?=[.,;:!?\n(]|$|\b(?:and|with|from|in|as|by|who|for)\b)/iu.exec(
      plain,
    )?.[1] ?? null
  const words: string[] = []
  const prose = plain.replace(/(?<![\w.-])[\w.-]*\/\S+/g, " ")
  for (const [word] of prose.matchAll(/[\p{L}][\p{L}\p{M}'\u2019-]{2,}/gu)) {
    const lower = word.toLowerCase()
    if (!stopWords.has(lower)) words.push(lower)
    if (words.length >= 400) break
  }
  const names = [...plain.matchAll(/(?<=[\p{Ll},]\s)\p{Lu}\p{Ll}+(?:\s\p{Lu}\p{Ll}+)*/gu)].map(([name]) => name)
  return {
    instruction: text,
    lower: text.toLowerCase(),
    doubts: /\b(not|never|no|without|fail|failed|bug|broken|refuse)\b/i.test(text),
    date: /\b\d{4}-\d{2}-\d{2}\b/.exec(text)?.[0] ?? null,
    words: unique(words),
    names: unique(greets === null ? names : [greets, ...names]),
    numbers: (plain.match(/(?<![\w.-])-?\d+(?:\.\d+)?(?!\.?\w)/g) ?? []).slice(0, 50).map(Number),
    urls,
    emails,
    paths,
    quotes: [...plain.matchAll(/["\u201c']([^"\u201c\u201d'\n]{2,200})["\u201d']/g)]
      .map(([, quote = ""]) => quote)
      .slice(0, 20),
    greets,
  }
}

function unique(items: readonly string[]): string[] {
  return [...new Set(items)].slice(0, 200)
}

/** A few words on what the instruction is about: `retry logic, jitter`. */
export function about(topic: Topic, count: number, from = 0): string {
  const { words } = topic
  if (words.length === 0) return "nothing in particular"
  let text = words[from % words.length] ?? ""
  for (let at = 1; at < Math.min(count, words.length); at++) text += ` ${words[(from + at) % words.length] ?? ""}`
  return text
}

/** The beginning of a text, cut between words. */
export function beginning(text: string, length: number): string {
  // Ignores everything far beyond the length.
  const line = text
    .slice(0, 20 * length)
    .replace(/\s+/g, " ")
    .trim()
  if (line.length <= length) return line
  const cut = line.slice(0, length)
  return `${cut.slice(0, Math.max(cut.lastIndexOf(" "), length / 2))}…`
}
