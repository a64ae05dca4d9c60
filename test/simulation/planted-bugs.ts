/** A mistake that a developer could make in the code: the text to replace, and what replaces it. */
export interface PlantedBug {
  readonly name: string
  readonly file: string
  readonly from: string
  readonly to: string
  /** What finds it: whole histories on the memory store, on the NATS store, or made again on SQLite. */
  readonly on?: "nats" | "sqlite"
  /** The seed to begin with, where only one history in hundreds finds it. */
  readonly first?: number
}

// Each is a bug that was made, or nearly made, in a system of this kind. The simulation has to catch every one of them.
export const plantedBugs: readonly PlantedBug[] = [
  {
    name: "a process that lost the run may still write to its log",
    file: "src/adapters/memory/memory-store.ts",
    from: "return run?.fence === lease.fence ? run : undefined",
    to: "return run",
  },
  {
    name: "a run can be claimed while its owner is well",
    file: "src/adapters/memory/memory-store.ts",
    from: "if (run.lease_until > now || ",
    to: "if (run.lease_until > now + 8_000 || ",
  },
  {
    name: "one idempotency key makes two runs",
    file: "src/adapters/memory/memory-store.ts",
    from: "if (existing !== null) return existing\n    if (this.#runs",
    to: "if (this.#runs",
  },
  {
    name: "giving a run back takes it from its present owner",
    file: "src/adapters/memory/memory-store.ts",
    from: "const run = this.#held(lease)\n    if (run === undefined) return\n    run.fence++",
    to: "const run = this.#open.get(lease.run_id)\n    if (run === undefined) return\n    run.fence++",
  },
  {
    name: "calls go out although the lease may have run out",
    file: "src/run/log/lease-keeper.ts",
    from: "< (this.#leaseMs * 2) / 3) return null",
    to: "< Infinity) return null",
  },
  {
    name: "a tool is called before the log knows that it will be",
    file: "src/run/log/log.ts",
    from: `  "tool_call_started",\n`,
    to: "",
  },
  {
    name: "what an agent said is used before it is stored",
    file: "src/run/log/log.ts",
    from: `  "agent_completed",\n  "agent_failed",`,
    to: `  "agent_failed",`,
  },
  {
    name: "an append whose answer was lost counts as stored",
    file: "src/run/log/log.ts",
    from: "if (await this.#isStored(batch)) return",
    to: "return",
  },
  {
    name: "an interrupted call is made once more, whatever it does",
    file: "src/run/tools/call-tool.ts",
    from: "if (begun && !idempotent) return end",
    to: "if (false as boolean) return end",
  },
  {
    name: "a resumed run forgets which agents have completed",
    file: "src/run/log/read-past.ts",
    from: "agent.completed = {",
    to: "agent.failed = null; const forgotten = {",
  },
  {
    name: "followers are not notified of appended events",
    file: "src/ports/follow-log.ts",
    from: "const unwatch = log.watch(bell)",
    to: "const unwatch = (): void => undefined",
  },
  {
    name: "a failed agent leaves its calls behind, which write after the end",
    file: "src/run/run-context.ts",
    from: "running.backgroundWork.add(tracked)\n  return work",
    to: "return work",
    first: 7000,
  },
  {
    name: "the last answer to a question wins, not the first",
    file: "src/adapters/memory/memory-questions.ts",
    from: `if (stored.question.status !== "open") return { stored: false, settled: false, question: stored.question }`,
    to: "",
  },
  {
    name: "a call is made that was declined",
    file: "src/run/questions/approval-answer.ts",
    from: "return { approve: approve === true,",
    to: 'return { approve: typeof approve === "boolean",',
  },
  {
    name: "a person is shown other arguments than those that are sent",
    file: "src/run/questions/approval.ts",
    from: "        arguments: sent,\n        digest",
    to: '        arguments: { text: "something else" },\n        digest',
  },
  {
    name: "a resumed run forgets the model calls that it has made",
    file: "src/run/budget/read-used.ts",
    from: `this.#count(agent, "model_calls")`,
    to: "",
    first: 240,
  },
  {
    name: "nobody takes over the runs of a process that died",
    file: "src/adapters/memory/memory-store.ts",
    from: "if (run.lease_until > now || ",
    to: "if (run.lease_until > Number.NEGATIVE_INFINITY || ",
  },
  {
    name: "a follower misses an event",
    file: "src/ports/follow-log.ts",
    from: "last = event.id",
    to: "last = event.id % 7 === 0 ? event.id + 1 : event.id",
  },
  {
    name: "a notice is lost with the process that took it",
    file: "src/adapters/memory/memory-outbox.ts",
    from: "stored.due_at = now + holdMs",
    to: "stored.due_at = Number.POSITIVE_INFINITY",
  },
  {
    name: "a call goes out before its run is stored",
    file: "src/run/log/lease-keeper.ts",
    from: "if (held.creating !== null) return held.creating",
    to: "",
    first: 380,
  },
  {
    name: "a resumed run has all of its time again",
    file: "src/run/budget/time-limits.ts",
    from: "limit.most * 1000 - this.#counted(from, clock.now())",
    to: "limit.most * 1000",
    first: 180,
  },
  {
    name: "a resumed run forgets what its calls have cost",
    file: "src/run/budget/read-used.ts",
    from: "used.cost += spent.cost",
    to: "",
    first: 130,
  },
  {
    name: "two processes can fill one slot of a log",
    file: "src/adapters/nats/log-writer.ts",
    from: "const seq = await broker.putOnce(broker.names.slot",
    to: "const seq: number | null = await broker.put(broker.names.slot",
    on: "nats",
  },
  {
    name: "an idempotency key in the broker can be taken twice",
    file: "src/adapters/nats/idempotency-keys.ts",
    from: "(await this.#broker.putOnce(subject,",
    to: "(await this.#broker.put(subject,",
    on: "nats",
  },
  {
    name: "the last outcome of a question in the broker wins",
    file: "src/adapters/nats/questions.ts",
    from: "const seq = await this.#broker.putOnce(subject",
    to: "const seq: number | null = await this.#broker.put(subject",
    on: "nats",
  },
  {
    name: "a question that expires while it is asked is forgotten",
    file: "src/adapters/nats/questions.ts",
    from: "if (entry !== null && (await this.#mayBeAsked(entry))) return false",
    to: "",
    on: "nats",
  },
  {
    name: "a run in the broker can be claimed while its owner is well",
    file: "src/adapters/nats/signs-of-life.ts",
    from: "this.#note(run_id, fence, now - age, session)",
    to: "this.#note(run_id, fence, now - age - 10_000, session)",
    on: "nats",
  },
  {
    name: "a notice in the broker is lost with the process that took it",
    file: "src/adapters/nats/outbox.ts",
    from: "due_at: now + holdMs }",
    to: "due_at: now + 1e12 }",
    on: "nats",
  },
  {
    name: "SQLite renews a lease that is lost",
    file: "src/adapters/sqlite/lease-writer.ts",
    from: "UPDATE runs SET lease_until = ? WHERE run_id = ? AND fence = ? AND",
    to: "UPDATE runs SET lease_until = ? WHERE run_id = ? AND fence >= ? AND",
    on: "sqlite",
  },
]
