import type { Notice, NoticeEvent, TakenNotice } from "../ports/notices.ts"
import type { Vault } from "../ports/vault.ts"
import type { Row } from "./sql.ts"

export function openNotice(vault: Vault, row: Row): Notice {
  const [run_id, event_id] = [row["run_id"] as string, row["event_id"] as number]
  const error = row["last_error"]
  return {
    run_id,
    event_id,
    caller: row["caller"] as string,
    event: row["event"] as NoticeEvent,
    caused_at: row["caused_at"] as number,
    status: row["status"] as Notice["status"],
    attempts: row["attempts"] as number,
    last_error: error instanceof Uint8Array ? vault.open(aboutError(run_id, event_id), error) : null,
  }
}

export function openTaken(vault: Vault, row: Row): TakenNotice {
  const notice = openNotice(vault, row)
  return { ...notice, url: vault.open(aboutUrl(notice.run_id), row["url"] as Uint8Array) }
}

// What sealed things are about: changing these makes what is stored unreadable.

export function aboutUrl(run_id: string): string {
  return `notify url of run ${run_id}`
}

export function aboutError(run_id: string, event_id: number): string {
  return `error of notice ${event_id} of run ${run_id}`
}
