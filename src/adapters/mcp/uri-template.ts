// URI templates (RFC 6570) as far as resources use them: variables are texts, `*` and `:n` are understood.

interface Part {
  readonly operator: string
  readonly variables: readonly { readonly name: string; readonly most: number | null }[]
}

export interface UriTemplate {
  readonly variables: readonly string[]
  /** Variables that a URI needs: all but those of its query. */
  readonly required: readonly string[]
  expand(values: Readonly<Record<string, string>>): string
}

const styles: Readonly<Record<string, { first: string; between: string; named: boolean; reserved: boolean }>> = {
  "": { first: "", between: ",", named: false, reserved: false },
  "+": { first: "", between: ",", named: false, reserved: true },
  "#": { first: "#", between: ",", named: false, reserved: true },
  ".": { first: ".", between: ".", named: false, reserved: false },
  "/": { first: "/", between: "/", named: false, reserved: false },
  ";": { first: ";", between: ";", named: true, reserved: false },
  "?": { first: "?", between: "&", named: true, reserved: false },
  "&": { first: "&", between: "&", named: true, reserved: false },
}

/** Null for a text that is not a template that we can expand. */
export function parseUriTemplate(text: string): UriTemplate | null {
  const parts: (string | Part)[] = []
  for (const piece of text.split(/(\{[^{}]*\})/)) {
    if (!piece.startsWith("{")) {
      if (/[{}]/.test(piece)) return null
      parts.push(piece)
      continue
    }
    const [, operator = "", list = ""] = /^\{([+#./;?&]?)([\w.%*:,]+)\}$/.exec(piece) ?? []
    const variables = list.split(",").map((item) => /^([\w.%]+)(?:\*|:(\d{1,4}))?$/.exec(item))
    if (variables.some((match) => match === null)) return null
    parts.push({
      operator,
      variables: variables.map((match) => ({
        name: match?.[1] ?? "",
        most: match?.[2] === undefined ? null : Number(match[2]),
      })),
    })
  }
  const expressions = parts.filter((part) => typeof part !== "string")
  const names = (of: readonly Part[]): string[] => [
    ...new Set(of.flatMap(({ variables }) => variables.map(({ name }) => name))),
  ]
  return {
    variables: names(expressions),
    required: names(expressions.filter(({ operator }) => operator !== "?" && operator !== "&")),
    expand: (values) => parts.map((part) => (typeof part === "string" ? part : expandPart(part, values))).join(""),
  }
}

function expandPart({ operator, variables }: Part, values: Readonly<Record<string, string>>): string {
  const style = styles[operator]
  if (style === undefined) throw new Error(`Unknown operator ${operator}`)
  const given = variables.flatMap(({ name, most }) => {
    const value = Object.hasOwn(values, name) ? values[name] : undefined
    if (value === undefined) return []
    const cut = most === null ? value : Array.from(value).slice(0, most).join("")
    const text = encode(cut, style.reserved)
    if (!style.named) return [text]
    return [text === "" && operator === ";" ? name : `${name}=${text}`]
  })
  return given.length === 0 ? "" : style.first + given.join(style.between)
}

function encode(value: string, reserved: boolean): string {
  const text = value.toWellFormed()
  if (reserved)
    return encodeURI(text)
      .replaceAll("%5B", "[")
      .replaceAll("%5D", "]")
      .replaceAll(/%25([0-9A-F]{2})/gi, "%$1")
  return encodeURIComponent(text).replaceAll(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
}
