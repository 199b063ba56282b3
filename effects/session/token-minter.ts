/** Where proxy tokens come from. */

/**
 * Mints tokens for the endpoint proxy of one MicroVM.
 *
 * The answer maps header names to values, as `CreateMicrovmAuthToken` answers it; the name
 * `X-aws-proxy-auth` must be in it, in any case (`client-behaviour.md` 4.4).
 */
export interface TokenMinter {
  /** Mints one token whose scope is exactly these ports. Rejects with a `VmchartError` of the fitting kind. */
  mintForPorts(ports: readonly number[], signal?: AbortSignal): Promise<Record<string, string>>;
}
