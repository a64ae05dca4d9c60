import assert from "node:assert/strict"
import { test } from "node:test"
import { countersOf, sumMetrics } from "./sum-metrics.ts"

const text = (runs: number, waiting: number, lag: string, le: number): string =>
  [
    "# HELP wire_runs_total Ended runs",
    "# TYPE wire_runs_total counter",
    `wire_runs_total{status="completed"} ${runs}`,
    `wire_runs_total{status="failed",workflow="a b"} 1`,
    "",
    "# HELP wire_runs_waiting Runs that wait",
    "# TYPE wire_runs_waiting gauge",
    `wire_runs_waiting ${waiting}`,
    "# HELP wire_runs_active Runs under way",
    "# TYPE wire_runs_active gauge",
    "wire_runs_active 2",
    "# HELP wire_run_duration_seconds Time",
    "# TYPE wire_run_duration_seconds histogram",
    `wire_run_duration_seconds_bucket{le="0.5"} ${le}`,
    `wire_run_duration_seconds_bucket{le="+Inf"} ${le}`,
    `wire_run_duration_seconds_sum 0.25`,
    `wire_run_duration_seconds_count ${le}`,
    "# HELP nodejs_eventloop_lag_p99_seconds Lag",
    "# TYPE nodejs_eventloop_lag_p99_seconds gauge",
    `nodejs_eventloop_lag_p99_seconds ${lag}`,
    "",
  ].join("\n")

test("counts are added, what all read from the store is not, and of the lag the worst counts", () => {
  assert.equal(
    sumMetrics([text(3, 7, "0.1", 4), text(5, 7, "0.3", 6)]),
    [
      "# HELP wire_runs_total Ended runs",
      "# TYPE wire_runs_total counter",
      'wire_runs_total{status="completed"} 8',
      'wire_runs_total{status="failed",workflow="a b"} 2',
      "# HELP wire_runs_waiting Runs that wait",
      "# TYPE wire_runs_waiting gauge",
      "wire_runs_waiting 7",
      "# HELP wire_runs_active Runs under way",
      "# TYPE wire_runs_active gauge",
      "wire_runs_active 4",
      "# HELP wire_run_duration_seconds Time",
      "# TYPE wire_run_duration_seconds histogram",
      'wire_run_duration_seconds_bucket{le="0.5"} 10',
      'wire_run_duration_seconds_bucket{le="+Inf"} 10',
      "wire_run_duration_seconds_sum 0.5",
      "wire_run_duration_seconds_count 10",
      "# HELP nodejs_eventloop_lag_p99_seconds Lag",
      "# TYPE nodejs_eventloop_lag_p99_seconds gauge",
      "nodejs_eventloop_lag_p99_seconds 0.3",
      "",
    ].join("\n"),
  )
})

test("of a process that is gone its counters stay", () => {
  const left = countersOf(text(3, 7, "NaN", 4))
  assert.match(left, /^wire_runs_total\{status="completed"\} 3$/m)
  assert.match(left, /^wire_run_duration_seconds_count 4$/m)
  assert.doesNotMatch(left, /wire_runs_active|wire_runs_waiting|lag/)
  assert.match(sumMetrics([text(1, 1, "NaN", 1), left]), /^wire_runs_total\{status="completed"\} 4$/m)
  assert.match(sumMetrics([text(1, 1, "NaN", 1), text(1, 1, "0.2", 1)]), /^nodejs_eventloop_lag_p99_seconds 0.2$/m)
  assert.equal(sumMetrics([]), "")
})
