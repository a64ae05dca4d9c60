// Sources for the language benchmark: workflows as people write them, of any length, and GraphQL documents of the same
// size for the floors.

/** A workflow of about so many lines: the same kinds of declarations over and over, under new names. */
export function workflowOf(lines: number): string {
  const parts = [head, agent(1)]
  if (lines > 100) parts.push(server)
  parts.push(tail)
  let count = lineCount(parts.join("\n"))
  for (let index = 2; ; index++) {
    for (const part of [schema(index), agent(index), tool(index), loop(index), values(index)]) {
      const more = lineCount(part) + 1
      if (count + more / 2 > lines) return parts.join("\n")
      parts.push(part)
      count += more
    }
  }
}

/** A GraphQL document of at least this many bytes: types, then operations on them. */
export function graphqlOf(bytes: number): string {
  const parts: string[] = []
  let size = 0
  for (let index = 1; size < bytes; index++) {
    for (const part of [graphqlTypes(index), graphqlOperation(index)]) {
      if (size >= bytes) break
      parts.push(part)
      size += part.length + 1
    }
  }
  return parts.join("\n")
}

export function lineCount(text: string): number {
  return text.split("\n").length - 1
}

const head = `// Reviews a pull request from two sides, then writes one verdict.
input {
    title: string
    files: [{ path: string, patch: string }]
    reviewer: maybe string
}

provider llm from openai { endpoint: "https://api.example.com/v1" }

model fast from llm {
    id: "gpt-4.1-mini"
    inference { temperature: 0.2, max_tokens: 4_000 }
}
`

const server = `secrets {
    tracker_token: string
}

mcp tracker {
    endpoint: "https://tracker.example.com/mcp"

    headers {
        Authorization: "Bearer {{ secrets.tracker_token }}"
        X-Client-Version: "2"
    }
}
`

const schema = (index: number) => `/// What a reviewer has to say about one file of part ${index}.
schema finding_${index} {
    /// Path of the file the finding is about
    path: string

    /// How bad it is: most findings are low
    severity: enum { low, medium, high }
    lines: (integer, integer)
    tags: [string]
    owner: maybe string

    advice: variant kind {
        rewrite {
            patch: string
            confidence: number
        }

        question {
            text: string
        }
    }
}
`

const agent = (index: number) => `agent summary_${index} {
    model: model.fast

    instruction: """
        Write a summary of part ${index} for {{ input.reviewer ?? "anyone" }}.
        The title of the pull request is {{ input.title }}.

        Keep to the facts, and don't repeat what the author wrote.
    """

    output {
        summary: string
        risk: enum { none, some, much }
        open_questions: [string]
    }
}
`

const tool = (index: number) => `tool find_issues_${index} from mcp.tracker.tool.find-issues {
    output {
        issues: [{ key: string, title: string }]
    }

    bindings {
        project: "part-${index}"
        limit: 20
    }

    max_calls: 3
}
`

const loop = (index: number) => `// One step for each file that has changed.
agent review_${index} for { path, patch } in input.files {
    model: model.fast { inference { temperature: 0, reasoning_effort: "low" } }
    uses: [tool.find_issues_${index} { max_calls: 2 }]
    instruction: "Review {{ path }} as part ${index}:\\n{{ patch }}"

    output {
        findings: [schema.finding_${index}]
    }
}
`

const values = (index: number) => `dynamic {
    related_${index}: call tool.find_issues_${index} {
        input {
            query: "{{ input.title }} {{ agent.summary_${index}.risk }}"
        }
    }

    worst_${index}: agent.review_${index}[0]?.findings[0]?.advice
    all_${index}: { summary: agent.summary_${index}.summary, findings: agent.review_${index}.*.findings } // for the report
}
`

const tail = `output {
    title: input.title
    summary: agent.summary_1.summary
}
`

const graphqlTypes = (index: number) => `"""
What a reviewer has to say about one file of part ${index}.
"""
type Finding${index} implements Node @key(fields: "id") {
  id: ID!
  "Path of the file the finding is about"
  path: String!
  severity: Severity${index}! @deprecated(reason: "Use level")
  comments(first: Int = 10, after: String, orderBy: [Order!] = [{ field: CREATED, direction: DESC }]): [Comment!]!
  owner: User
}

enum Severity${index} {
  LOW
  MEDIUM
  HIGH
}

input FindingFilter${index} {
  path: String
  severity: [Severity${index}!]
  limit: Int = 20
}
`

const graphqlOperation = (
  index: number,
) => `query Findings${index}($path: String!, $filter: FindingFilter${index}, $first: Int = 20) {
  repository(path: $path) {
    id
    findings(filter: $filter, first: $first, note: "part ${index}") {
      edges {
        node {
          ...FindingParts${index}
          owner { id login }
        }
      }
      pageInfo { hasNextPage endCursor }
    }
  }
}

fragment FindingParts${index} on Finding${index} {
  id
  path
  severity
  comments(first: 5) @include(if: true) { id body }
}
`
