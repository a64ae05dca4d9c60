import type { DemoModel } from "../demo/handle-demo.ts"
import type { RunStore } from "../ports/store.ts"
import type { TroubleKind } from "../run/health.ts"
import type { Runs } from "../run/runs.ts"
import type { MemoryBounds } from "../run/shares/memory-share.ts"
import type { BrowserRules } from "./browser-rules.ts"
import type { CallerKey } from "./callers.ts"
import type { Group } from "./groups.ts"
import type { Page } from "./playground-page.ts"
import type { SharedSpending } from "./rate-limit.ts"
import type { McpRoute, RouteDependencies, ServerLog } from "./route-dependencies.ts"

export interface ServerOptions {
  readonly version: string
  readonly maxBody: number
  /** Memory for bodies that are arriving and answers that nobody has read yet. Unbounded unless set. */
  readonly transit?: MemoryBounds
  readonly keys: readonly CallerKey[]
  /** Keys that see, cancel and delete runs of all callers, and start and answer none. */
  readonly operatorKeys?: readonly CallerKey[]
  /** Who answers questions to a group. */
  readonly groups?: readonly Group[]
  readonly browsers: BrowserRules
  /** Only this machine can reach it. */
  readonly loopback: boolean
  /** Requests per second and caller; 0 means no limit. */
  readonly rateLimit: number
  /** Where several processes count requests together. */
  readonly spending?: SharedSpending
  /** How many processes serve, of how many; only where there are several. */
  readonly processes?: () => { readonly up: number; readonly of: number }
  /** Null: switched off. */
  readonly demo: DemoModel | null
  /** The playground's file under a path, `""` being the page itself; null when it is switched off. */
  readonly playground: ((path: string) => Page | undefined) | null
  readonly runs: Runs
  readonly files: RouteDependencies["files"]
  readonly store: RunStore
  readonly planOf: RouteDependencies["planOf"]
  readonly compiler: RouteDependencies["compiler"]
  readonly folder: RouteDependencies["folder"]
  readonly serverSecrets: RouteDependencies["serverSecrets"]
  readonly triggers: RouteDependencies["triggers"]
  readonly versions: RouteDependencies["versions"]
  readonly releases: RouteDependencies["releases"]
  /** Null where no workflows are served by name. */
  readonly mcp: McpRoute | null
  readonly log: ServerLog
  readonly audit: RouteDependencies["audit"]
  readonly notify: RouteDependencies["notify"]
  readonly readsBaggage: boolean
  /** How long ended runs are kept. */
  readonly retentionMs: number
  /** Where traces are shown, with `{trace_id}` in it; null where that is not known. */
  readonly traceUrl: string | null
  readonly clock: RouteDependencies["clock"]
  readonly budgets: RouteDependencies["budgets"]
  readonly metrics: {
    /** The key that opens `/metrics` and nothing else; null without one. */
    readonly key: string | null
    /** Prometheus text. */
    text(): Promise<{ readonly type: string; readonly text: string }>
    readonly service: RequestMetrics
  }
  /** The trouble that keeps the service from its work right now; null without any. */
  readonly trouble: () => TroubleKind | null
  /** A sentence for callers about what the process lacks, so that any failure may come from that; null without a shortage. */
  readonly shortage: () => string | null
  /** Connections at a time; as many as there are unless set. One caller may have requests on half of them. */
  readonly maxConnections?: number | undefined
  /** How long a request may take to arrive; a minute unless set. */
  readonly requestTimeoutMs?: number | undefined
}

/** Hears of requests that have been answered. */
export interface RequestMetrics {
  /** `workflow`: the name of the workflow of the folder that the request is about; null for all others. */
  answered(method: string, route: string | null, status: number, duration_ms: number, workflow: string | null): void
  refused(reason: string): void
  /** A run was erased. */
  erased(): void
  /** What became of an event that somebody sent. */
  eventSent(outcome: "delivered" | "kept" | "unmatched" | "refused"): void
}
