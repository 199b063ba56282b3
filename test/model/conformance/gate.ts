/** An HTTP port that lets a request go only when it is told to. */
import type { Http, HttpRequest, HttpResponse } from '../../../effects/index.ts';

interface Held {
  readonly request: HttpRequest;
  readonly pass: () => Promise<void>;
}

/** Holds every request before it leaves. */
export class Gate implements Http {
  readonly #http: Http;
  readonly #changed: () => void;
  readonly #held: Held[] = [];

  /** @param changed told when a request comes or is answered */
  constructor(http: Http, changed: () => void) {
    this.#http = http;
    this.#changed = changed;
  }

  /** How many requests wait. */
  get waiting(): number {
    return this.#held.length;
  }

  async send(request: HttpRequest): Promise<HttpResponse> {
    return await new Promise<HttpResponse>((resolve, reject) => {
      const held: Held = {
        request,
        pass: async () => {
          request.signal?.removeEventListener('abort', drop);
          await this.#http.send(request).then(resolve, reject);
          this.#changed();
        },
      };
      const drop = (): void => {
        this.#held.splice(this.#held.indexOf(held), 1);
        reject(request.signal?.reason as Error);
      };
      request.signal?.addEventListener('abort', drop, { once: true });
      this.#held.push(held);
      this.#changed();
    });
  }

  openStream(): never {
    throw new Error('The control plane has no streams.');
  }

  /** Lets the oldest request go, and waits for its answer. */
  async passOne(): Promise<void> {
    await this.#held.shift()?.pass();
  }
}
