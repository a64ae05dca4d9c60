/** What a client is told who waits for a run when a service with a store in memory stops. */
export const runIsLost =
  "The service is shutting down, and the run is lost, because the store is in memory. Send the request again when the service is back."
