/** An emulator on this machine that is not running: told at once, where a distant service would be tried again. */
import { VmchartError } from '../../../effects/index.ts';
import type { Http } from '../../../effects/index.ts';

/** The reason of an error about a port of this machine on which nothing listens. */
export const notListening = 'nothing-listening-here';

/** Whether an address is of this machine. */
export function isLoopback(address: string): boolean {
  const { hostname } = new URL(address);
  return hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.');
}

/**
 * Makes a refused connection to the service final when the service is on this machine: nothing was sent, and
 * waiting does not start a program. Calls to any other address are left alone.
 */
export function withoutWaitingFor(http: Http, endpointUrl: string): Http {
  if (!isLoopback(endpointUrl)) return http;
  const { origin, port } = new URL(endpointUrl);
  return {
    ...http,
    async send(request) {
      try {
        return await http.send(request);
      } catch (error) {
        if (new URL(request.url).origin !== origin || !isRefused(error)) throw error;
        throw new VmchartError('Precondition', `Nothing answers at ${origin}: the connection was refused.`, {
          reason: notListening,
          suggestions: [
            `Is the emulator running? Start it with vmchart emulator${port === '' ? '' : ` --port ${port}`}`,
          ],
          cause: error,
        });
      }
    },
  };
}

function isRefused(error: unknown): boolean {
  if (!VmchartError.is(error) || error.reason !== 'connect') return false;
  return (error.cause as NodeJS.ErrnoException | undefined)?.code === 'ECONNREFUSED';
}
