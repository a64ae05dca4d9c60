/** How many times a failed model call is tried again, where the workflow does not say it. */
export const defaultRetries = 3
/** How many times an answer that does not fit is sent back, where the workflow does not say it. */
export const defaultRepairs = 2
