/** The daemon's credentials: installed once, compared in constant time, held in memory only. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { createActor } from 'xstate';
import type { Clock, Entropy } from '../../../effects/index.ts';
import { bootstrapMachine } from '../../../machines/index.ts';
import type { BootstrapAnswer } from '../../../machines/index.ts';
import type { Bootstrap } from './payload.ts';

/** See {@link createBootstrap}. */
export interface BootstrapState {
  /** Offers a well-formed payload; only the first one and its replays are accepted. */
  offer(bootstrap: Bootstrap): BootstrapAnswer['outcome'];
  /** What was installed, or `null`. Secret. */
  installed(): Bootstrap | null;
  /** The bearer check of a control route. */
  authorize(request: IncomingMessage): 200 | 401 | 503;
}

/** The token of an `Authorization` header: everything after the first space of a bearer, byte for byte. */
export function bearerOf(header: string | undefined): Buffer | null {
  const space = header?.indexOf(' ') ?? -1;
  if (header === undefined || space < 0 || header.slice(0, space).toLowerCase() !== 'bearer') return null;
  return Buffer.from(header.slice(space + 1), 'latin1');
}

/** A daemon without a token, run by the bootstrap machine. */
export function createBootstrap(clock: Clock, entropy: Entropy): BootstrapState {
  const key = new Uint8Array(32);
  entropy.fill(key);
  // Keyed by a secret of this daemon, so that a reference in a snapshot tells nothing about even a weak token.
  const refOf = (token: Buffer): string => createHmac('sha256', key).update(token).digest('hex').slice(0, 32);
  const actor = createActor(bootstrapMachine).start();
  let installed: Bootstrap | null = null;
  let answer: BootstrapAnswer | null = null;
  actor.on('INSTALL.ANSWERED', (given) => {
    answer = given;
  });

  return {
    offer(bootstrap) {
      answer = null;
      actor.send({ type: 'INSTALL', tokenRef: refOf(bootstrap.token), at: clock.now() });
      const { outcome } = answer as unknown as BootstrapAnswer;
      if (outcome === 'installed') installed = bootstrap;
      return outcome;
    },
    installed: () => installed,
    authorize(request) {
      if (installed === null) return 503;
      const given = bearerOf(request.headers.authorization);
      if (given === null || given.length !== installed.token.length) return 401;
      return timingSafeEqual(given, installed.token) ? 200 : 401;
    },
  };
}
