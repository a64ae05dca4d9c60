import type { HostRequest, HostSession, HostWatch, ToolHost } from "../../ports/tools.ts"

/** Tools of MCP servers and of HTTP APIs side by side: one session for both. */
export class ToolHosts implements ToolHost {
  readonly #mcp: ToolHost
  readonly #http: ToolHost

  constructor(mcp: ToolHost, http: ToolHost) {
    this.#mcp = mcp
    this.#http = http
  }

  async open(request: HostRequest, watch: HostWatch): Promise<HostSession> {
    const { servers, apis, tools } = request
    if (apis.length === 0) return this.#mcp.open(request, watch)
    const overHttp = tools.filter(({ http }) => http !== undefined)
    const http = await this.#http.open({ ...request, servers: [], tools: overHttp, resources: [], prompts: [] }, watch)
    if (servers.length === 0) return http
    const others = tools.filter((tool) => tool.http === undefined)
    return joined(await this.#mcp.open({ ...request, apis: [], tools: others }, watch), http)
  }
}

function joined(mcp: HostSession, http: HostSession): HostSession {
  const sessionOf = (tool: string): HostSession => (http.tools.has(tool) ? http : mcp)
  return {
    problems: mcp.problems,
    tools: new Map([...mcp.tools, ...http.tools]),
    resources: mcp.resources,
    prompts: mcp.prompts,
    published: (tool, signal) => sessionOf(tool).published(tool, signal),
    call: (tool, ...rest) => sessionOf(tool).call(tool, ...rest),
    read: (...args) => mcp.read(...args),
    render: (...args) => mcp.render(...args),
    async close() {
      await Promise.all([mcp.close(), http.close()])
    },
  }
}
