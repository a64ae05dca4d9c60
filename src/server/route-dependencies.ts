import type { IncomingMessage, ServerResponse } from "node:http"
import type { Compiler, SourceToPlan } from "../compiler/compiler.ts"
import type { Planned } from "../compiler/source-jobs.ts"
import type { Audit } from "../ports/audit.ts"
import type { RunStore } from "../ports/store.ts"
import type { RunMemory } from "../run/shares/memory-share.ts"
import type { Clock } from "../ports/clock.ts"
import type { Budgets } from "../run/budget/budgets.ts"
import type { Files } from "../run/files/files.ts"
import type { Runs } from "../run/runs.ts"
import type { ServerSecrets } from "../workflows/server-secrets.ts"
import type { ServedVersions } from "../workflows/served-versions.ts"
import type { Releases } from "../workflows/releases/releases.ts"
import type { Triggers } from "../workflows/triggers/triggers.ts"
import type { WorkflowFolder } from "../workflows/workflow-folder.ts"
import type { NotifyRules } from "./check-notify.ts"
import type { EventStreams } from "./event-stream.ts"
import type { Groups } from "./groups.ts"
import type { LargeAnswers } from "./large-answers.ts"

/** Answers `/mcp`. */
export interface McpRoute {
  /** Writes the answer itself. */
  answer(
    request: { readonly caller: string; readonly body: unknown; readonly unread: RunMemory },
    incoming: IncomingMessage,
    outgoing: ServerResponse,
  ): Promise<void>
}

/** Dependencies that the routes share. */
export interface RouteDependencies {
  readonly runs: Runs
  /** Null where the service keeps none. */
  readonly files: Files | null
  readonly store: RunStore
  readonly streams: EventStreams
  /** Compiled once and kept. */
  readonly planOf: (source: SourceToPlan, share: string) => Promise<Planned>
  readonly compiler: Compiler
  /** The workflows with names; null where none are served. */
  readonly folder: WorkflowFolder | null
  readonly serverSecrets: ServerSecrets
  /** Schedules and webhooks; null where no workflows are served by name. */
  readonly triggers: Triggers | null
  /** Kept versions of the workflows with names; null where none are served. */
  readonly versions: ServedVersions | null
  /** Candidates; null where no workflows are served by name. */
  readonly releases: Releases | null
  readonly log: ServerLog
  readonly audit: Audit
  readonly notify: NotifyRules
  /** Whether a `baggage` header is read: some backend may have it. */
  readonly readsBaggage: boolean
  readonly groups: Groups
  /** How long ended runs are kept. */
  readonly retentionMs: number
  /** Where traces are shown, with `{trace_id}` in it; null where that is not known. */
  readonly traceUrl: string | null
  readonly answers: LargeAnswers
  /** The store's time. */
  readonly clock: Pick<Clock, "now">
  /** Null without any. */
  readonly budgets: Budgets | null
  /** Counts a run that was erased. */
  readonly countErased: () => void
  /** Counts what became of an event that somebody sent. */
  readonly countEvent: (outcome: "delivered" | "kept" | "unmatched" | "refused") => void
}

/** Run ids and outcomes, never payloads. */
export interface ServerLog {
  debug(about: Readonly<Record<string, unknown>>, message: string): void
  info(about: Readonly<Record<string, unknown>>, message: string): void
  warn(about: Readonly<Record<string, unknown>>, message: string): void
  error(about: Readonly<Record<string, unknown>>, message: string): void
}
