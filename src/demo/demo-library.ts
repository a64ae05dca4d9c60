import { createMcpHandler, fromJsonSchema, McpServer, ResourceTemplate } from "@modelcontextprotocol/server"
import type { McpHttpHandler } from "@modelcontextprotocol/server"

interface Book {
  readonly title: string
  readonly author: string
  readonly year: number
  readonly shelf: string
}

const books: readonly Book[] = [
  { title: "The Owl Papers", author: "Jonathan Evan Maslow", year: 1983, shelf: "N2" },
  { title: "The Soul of a New Machine", author: "Tracy Kidder", year: 1981, shelf: "T4" },
  { title: "Notes on the Synthesis of Form", author: "Christopher Alexander", year: 1964, shelf: "T1" },
  { title: "A Pattern Language", author: "Christopher Alexander", year: 1977, shelf: "T1" },
  { title: "The Sea Around Us", author: "Rachel Carson", year: 1951, shelf: "N1" },
  { title: "The Wind in the Wires", author: "Duncan Grinnell-Milne", year: 1933, shelf: "H3" },
]

const book = {
  type: "object" as const,
  properties: {
    title: { type: "string" as const },
    author: { type: "string" as const },
    year: { type: "integer" as const },
    shelf: { type: "string" as const, description: "Where it stands" },
  },
  required: ["title", "author", "year", "shelf"],
  additionalProperties: false,
}

/**
 * The demo's MCP server, what `endpoint: "demo"` of an `mcp` means: a small library, real over HTTP, the same for everybody,
 * without anything behind it.
 */
export function createDemoLibrary(): McpHttpHandler {
  return createMcpHandler(makeServer, { keepAliveMs: 0 })
}

function makeServer(): McpServer {
  const library = new McpServer(
    { name: "wireworks-demo-library", version: "1.0.0" },
    { capabilities: { tools: {}, resources: {}, prompts: {} } },
  )
  library.registerTool(
    "find-books",
    {
      description: "Finds books of the demo library by words of their title or author.",
      inputSchema: fromJsonSchema<{ query: string; most?: number }>({
        type: "object",
        properties: {
          query: { type: "string", description: "Words to look for" },
          most: { type: "integer", description: "At most so many", minimum: 1, maximum: 10 },
        },
        required: ["query"],
        additionalProperties: false,
      }),
      outputSchema: fromJsonSchema<{ books: readonly Book[] }>({
        type: "object",
        properties: { books: { type: "array", items: book } },
        required: ["books"],
        additionalProperties: false,
      }),
      annotations: { readOnlyHint: true },
    },
    ({ query, most = 3 }) => structured({ books: findBooks(query).slice(0, most) }),
  )
  library.registerTool(
    "reserve",
    {
      description: "Reserves a book of the demo library, which nobody will ever fetch.",
      inputSchema: fromJsonSchema<{ title: string; reader: string }>({
        type: "object",
        properties: { title: { type: "string" }, reader: { type: "string", description: "Who reserves it" } },
        required: ["title", "reader"],
        additionalProperties: false,
      }),
      annotations: { idempotentHint: true },
    },
    ({ title, reader }) => ({
      content: [{ type: "text", text: `${title} is reserved for ${reader}, says the demo.` }],
    }),
  )
  library.registerResource("opening-hours", "library://opening-hours", { mimeType: "text/plain" }, (uri) => ({
    contents: [{ uri: uri.href, mimeType: "text/plain", text: "Open day and night: it is a demo." }],
  }))
  library.registerResource(
    "shelf",
    new ResourceTemplate("library://shelves/{name}", { list: undefined }),
    { mimeType: "application/json" },
    (uri, { name }) => ({
      contents: [
        {
          uri: uri.href,
          mimeType: "application/json",
          text: JSON.stringify(books.filter(({ shelf }) => shelf === name).map(({ title }) => title)),
        },
      ],
    }),
  )
  library.registerPrompt(
    "recommend",
    {
      description: "Asks for a recommendation.",
      argsSchema: fromJsonSchema<{ reader: string }>({
        type: "object",
        properties: { reader: { type: "string" } },
        required: ["reader"],
        additionalProperties: false,
      }),
    },
    ({ reader }) => ({
      messages: [{ role: "user", content: { type: "text", text: `Recommend one book to ${reader}, and say why.` } }],
    }),
  )
  return library
}

/** Finds books whose title or author has one of the words; all books where none does, so that a demo never comes up empty. */
function findBooks(query: string): readonly Book[] {
  const words = query.toLowerCase().match(/\p{L}{3,}/gu) ?? []
  const found = books.filter(({ title, author }) => {
    const text = `${title} ${author}`.toLowerCase()
    return words.some((word) => text.includes(word))
  })
  return found.length > 0 ? found : books
}

function structured(value: { books: readonly Book[] }) {
  return { content: [{ type: "text" as const, text: JSON.stringify(value) }], structuredContent: { ...value } }
}
