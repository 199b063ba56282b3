/** Giving a VM away: the record that another process adopts it from. */
import { VmchartError } from '../errors.ts';

/** A VM that was given away. The token is readable on purpose and never printed by accident. */
export class Detached {
  readonly microvmId: string;
  readonly endpoint: string;
  readonly region: string;
  readonly port: number;
  readonly #agentToken: string;

  constructor(microvmId: string, endpoint: string, region: string, port: number, agentToken: string) {
    this.microvmId = microvmId;
    this.endpoint = endpoint;
    this.region = region;
    this.port = port;
    this.#agentToken = agentToken;
  }

  /** The bearer. Secret. */
  get agentToken(): string {
    return this.#agentToken;
  }
}

/** What a detached handle answers. */
export function detachedError(what: string): VmchartError {
  return new VmchartError('Precondition', `${what}: this handle was detached and does nothing any more`, {
    reason: 'detached',
  });
}
