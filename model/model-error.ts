/** What went wrong inside the checker itself: a faulty model or an exploration that cannot end. */

/**
 * Stable slugs of {@link ModelError.reason}.
 *
 * - `syntax`, `type`, `unknown-name`: an expression of a model is not well formed
 * - `limit`: an exploration met its limit; the message names the value that grows
 * - `invalid-model`: a model contradicts itself (a field too small, a table of the wrong size)
 * - `missing-dependency`: an optional package is not installed
 */
export type ModelErrorReason = 'syntax' | 'type' | 'unknown-name' | 'limit' | 'invalid-model' | 'missing-dependency';

/** An error of the model checker. A violated property is never an error: it is a result. */
export class ModelError extends Error {
  override readonly name = 'ModelError';
  /** Match on this, not on the message. */
  readonly code = 'ERR_MODEL';
  /** A finer, stable slug. */
  readonly reason: ModelErrorReason;

  constructor(reason: ModelErrorReason, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.reason = reason;
  }
}
