/** Sets what a session is made of, one thing after the other (`client-behaviour.md` 4.1). */
import type { Clock, Http } from '../ports.ts';
import type { ProxyAuth } from './proxy-auth.ts';
import type { SessionEgressPosture, SessionOptions } from './session.ts';
import type { TokenMinter } from './token-minter.ts';

/** The two ports that no session goes without. */
export interface SessionPorts {
  readonly http: Http;
  readonly clock: Clock;
}

/** Builds from exactly what was set; nothing is picked in silence. */
export class SessionBuilder<S> {
  readonly #options: SessionOptions;
  readonly #make: (options: SessionOptions) => S;

  constructor(options: SessionOptions, make: (options: SessionOptions) => S) {
    this.#options = options;
    this.#make = make;
  }

  http(http: Http): SessionBuilder<S> {
    return this.#with({ http });
  }

  clock(clock: Clock): SessionBuilder<S> {
    return this.#with({ clock });
  }

  minter(minter: TokenMinter): SessionBuilder<S> {
    return this.#with({ minter });
  }

  /** A token cache that is there already; it wins over a minter. */
  proxyAuth(proxyAuth: ProxyAuth): SessionBuilder<S> {
    return this.#with({ proxyAuth });
  }

  port(port: number): SessionBuilder<S> {
    return this.#with({ port });
  }

  timeoutMs(timeoutMs: number): SessionBuilder<S> {
    return this.#with({ timeoutMs });
  }

  egressPosture(egressPosture: SessionEgressPosture): SessionBuilder<S> {
    return this.#with({ egressPosture });
  }

  /** @throws VmchartError `Precondition` when the HTTP client or the clock was not set. */
  tryBuild(): S {
    return this.#make(this.#options);
  }

  /** Builds with these ports in the places that were left open. */
  buildWith(ports: SessionPorts): S {
    return this.#make({ ...ports, ...this.#options });
  }

  #with(more: Partial<SessionOptions>): SessionBuilder<S> {
    return new SessionBuilder({ ...this.#options, ...more }, this.#make);
  }
}
