/** What every group of operations shares: the ports, one caller, and reading answers. */
import type { z } from 'zod';
import type { HttpResponse, Ports } from '../ports.ts';
import { Caller } from './caller.ts';
import type { Call, CallOptions } from './caller.ts';
import { checkEmpty, decode } from './decode.ts';
import { allItems, eachPage } from './pages.ts';
import { checkRegion } from './regions.ts';
import type { RetryPolicy } from './retry.ts';
import { standardRetry } from './retry.ts';
import type * as Schemas from './schemas.ts';

/** How a control-plane client may behave. */
export interface ControlPlaneOptions {
  /** Allows a region that is not on the list. A custom endpoint allows it as well. */
  readonly unlistedRegion?: boolean;
  /** Parts of the retry policy to change. */
  readonly retry?: Partial<RetryPolicy>;
  /** Bounded retries of a launch that IAM denies by name, for roles that were just made (FC-014). Off by default. */
  readonly retryAccessDenied?: { readonly max: number };
  /**
   * How long launches are refused locally after the service said that a quota is used up, in milliseconds.
   * Off (0) by default; an accepted suspend or terminate ends it early (FC-046).
   */
  readonly quotaCooldownMs?: number;
}

/** Chooses the schema of an answer, once the schemas are loaded. */
type Pick<T> = (shapes: typeof Schemas) => z.ZodType<T>;

/** One page as a schema yields it. */
interface AnsweredPage<T> {
  items: T[];
  nextToken?: string | null | undefined;
}

/** The base of {@link ControlPlane}: sends calls and reads their answers. */
export class ControlPlaneClient {
  /** The region that every call goes to. */
  readonly region: string;
  /** The ports that this client works with. */
  readonly ports: Ports;
  readonly #caller: Caller;

  /** @throws VmchartError `InvalidArg` with reason `unsupported-region` for a region that is not on the list */
  constructor(ports: Ports, options: ControlPlaneOptions = {}) {
    if (ports.endpointUrl === undefined) checkRegion(ports.region, { unlisted: options.unlistedRegion === true });
    this.region = ports.region;
    this.ports = ports;
    this.#caller = new Caller(ports, {
      ...standardRetry,
      accessDeniedRetries: options.retryAccessDenied?.max ?? 0,
      ...options.retry,
    });
  }

  /** Sends, and hands over the answer as it came. */
  protected async exchange(call: Call, options: CallOptions): Promise<HttpResponse> {
    return this.#caller.send(call, options);
  }

  /** Sends, and reads the answer in our words. */
  protected async fetch<A, T>(call: Call, pick: Pick<A>, convert: (answer: A) => T, options: CallOptions): Promise<T> {
    return convert(await decode(call.operation, await this.exchange(call, options), pick));
  }

  /** Sends a call whose answer carries nothing. */
  protected async perform(call: Call, options: CallOptions): Promise<void> {
    checkEmpty(call.operation, await this.exchange(call, options));
  }

  /** Reads a listing page by page. */
  protected pages<A, T>(
    callAt: (cursor: { nextToken?: string }) => Call,
    pick: Pick<AnsweredPage<A>>,
    convert: (item: A) => T,
    options: CallOptions,
  ): AsyncGenerator<readonly T[], void, undefined> {
    // Built here, so that a refused argument throws at once and not at the first iteration.
    const first = callAt({});
    return eachPage(first.operation, async (nextToken) => {
      const call = nextToken === undefined ? first : callAt({ nextToken });
      const read = (page: AnsweredPage<A>) => ({ items: page.items.map(convert), nextToken: page.nextToken });
      return this.fetch(call, pick, read, options);
    });
  }

  /** Reads a listing to its last page. */
  protected async list<A, T>(
    callAt: (cursor: { nextToken?: string }) => Call,
    pick: Pick<AnsweredPage<A>>,
    convert: (item: A) => T,
    options: CallOptions,
  ): Promise<T[]> {
    return allItems(this.pages(callAt, pick, convert, options));
  }
}
