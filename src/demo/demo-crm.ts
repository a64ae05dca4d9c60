import type { IncomingMessage, ServerResponse } from "node:http"
import type { JsonValue } from "../base/json-value.ts"

/** Where the demo's CRM stands on its server. */
export const crmPath = "/demo/crm"

const contacts = [
  { id: "c1", name: "Ada Park", mail: "ada@example.com", company: "Northwind", tier: "gold" },
  { id: "c2", name: "Bo Lindqvist", mail: null, company: "Fabrikam", tier: "silver" },
  { id: "c3", name: "Chidi Okafor", mail: "chidi@example.com", company: "Contoso", tier: "gold" },
  { id: "c4", name: "Dana Ruiz", mail: "dana@example.com", company: "Northwind", tier: "bronze" },
]

/**
 * The demo's HTTP API, what `endpoint: "demo"` of an `api` means: a small CRM, real over HTTP, the same for everybody, which forgets
 * what it is given.
 */
export function answerCrm(request: IncomingMessage, body: string, response: ServerResponse): void {
  const url = new URL(request.url ?? "/", "http://demo")
  const [first, id, ...rest] = segmentsOf(url.pathname.slice(crmPath.length))
  const { method = "GET" } = request
  if (first !== "contacts" || rest.length > 1 || (rest.length === 1 && rest[0] !== "notes")) {
    return send(response, 404, {
      error: "There is nothing here: the demo has /contacts, /contacts/{id} and /contacts/{id}/notes.",
    })
  }
  const allowed = rest.length === 1 ? "POST" : "GET"
  if (method !== allowed) return send(response, 405, { error: `Only ${allowed} is answered here.` }, { allow: allowed })
  if (id === undefined) return send(response, 200, { contacts: findContacts(url.searchParams.get("query") ?? "") })
  const contact = contacts.find((one) => one.id === id)
  if (contact === undefined) return send(response, 404, { error: `No contact has the id ${id}.` })
  if (rest.length === 0) return send(response, 200, contact)
  const text = noteText(body)
  if (text === null) return send(response, 422, { error: "A note is an object with a `text`." })
  return send(response, 201, { id: "n1", contact: id, text, kept: false })
}

/** Finds contacts whose name, mail or company contains the text. */
function findContacts(query: string): typeof contacts {
  const wanted = query.toLowerCase()
  return contacts.filter(({ name, mail, company }) => `${name} ${mail ?? ""} ${company}`.toLowerCase().includes(wanted))
}

function segmentsOf(path: string): string[] {
  try {
    return path
      .split("/")
      .filter((segment) => segment !== "")
      .map(decodeURIComponent)
  } catch {
    return []
  }
}

function noteText(body: string): string | null {
  try {
    const note: unknown = JSON.parse(body)
    const text = typeof note === "object" && note !== null && "text" in note ? note.text : null
    return typeof text === "string" ? text : null
  } catch {
    return null
  }
}

function send(response: ServerResponse, status: number, value: JsonValue, headers: Record<string, string> = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers })
  response.end(JSON.stringify(value))
}
