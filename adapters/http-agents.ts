/** Connection pools, proxies and certificate authorities for the HTTP port. */
import { readFile } from 'node:fs/promises';
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { rootCertificates } from 'node:tls';
import { VmchartError } from '../effects/index.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Settings of the connections. */
export interface AgentOptions {
  /** Certificate authorities to trust beside the built-in ones, in PEM form. */
  readonly certificateAuthority?: string | Uint8Array | readonly (string | Uint8Array)[];
  /** Where `HTTPS_PROXY`, `NO_PROXY` and `NODE_EXTRA_CA_CERTS` are read; the process's by default. */
  readonly environment?: Environment;
  /** The most connections to one host. 64 by default. */
  readonly maxSockets?: number;
}

/** The pools of one HTTP port. */
export interface Agents {
  /** The pool for an address; a one-off agent when the connection must be new. */
  choose(url: URL, fresh: boolean): HttpAgent | HttpsAgent;
  close(): void;
}

const defaultMaxSockets = 64;

/** Whether an address is taken off the proxy by `NO_PROXY`: exact hosts, `.suffix` and `*`, with an optional port. */
export function bypassesProxy(url: URL, noProxy: string): boolean {
  const host = url.hostname.replace(/^\[|\]$/g, '').toLowerCase();
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  return noProxy
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
    .some((entry) => {
      if (entry === '*') return true;
      const [, name = entry, onlyPort] = /^(.+?)(?::(\d+))?$/.exec(entry) ?? [];
      if (onlyPort !== undefined && onlyPort !== port) return false;
      const suffix = name.replace(/^\*?\./, '');
      return host === suffix || host.endsWith(`.${suffix}`);
    });
}

/** The proxy for an address, from `HTTPS_PROXY` or `https_proxy`; `null` for plain HTTP, which stays local. */
export function proxyFor(url: URL, environment: Environment): string | null {
  const proxy = environment['HTTPS_PROXY'] || environment['https_proxy'];
  if (url.protocol !== 'https:' || proxy === undefined || proxy === '') return null;
  return bypassesProxy(url, environment['NO_PROXY'] || environment['no_proxy'] || '') ? null : proxy;
}

/**
 * All authorities to trust, or `undefined` for the runtime's own choice. An explicit list replaces that choice,
 * so the built-in ones and those of `NODE_EXTRA_CA_CERTS` are put in again.
 */
async function authorities(options: AgentOptions, environment: Environment): Promise<(string | Buffer)[] | undefined> {
  const own = options.certificateAuthority;
  if (own === undefined) return undefined;
  const list = typeof own === 'string' || own instanceof Uint8Array ? [own] : own;
  const extra = environment['NODE_EXTRA_CA_CERTS'];
  const extraPem = extra === undefined || extra === '' ? [] : [await readExtra(extra)];
  return [...rootCertificates, ...extraPem, ...list.map((pem) => (typeof pem === 'string' ? pem : Buffer.from(pem)))];
}

async function readExtra(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new VmchartError('InvalidArg', `NODE_EXTRA_CA_CERTS names a file that cannot be read: ${path}.`, {
      reason: 'unreadable-certificate',
      cause: error,
    });
  }
}

/** Makes the pools; the proxy package is loaded only when a proxy is named. */
export async function agentsFor(options: AgentOptions): Promise<Agents> {
  const environment = options.environment ?? process.env;
  const ca = await authorities(options, environment);
  const pool = {
    keepAlive: true,
    maxSockets: options.maxSockets ?? defaultMaxSockets,
    maxFreeSockets: options.maxSockets ?? defaultMaxSockets,
    scheduling: 'lifo' as const,
  };
  const tls = ca === undefined ? {} : { ca };
  const http = new HttpAgent(pool);
  const https = new HttpsAgent({ ...pool, ...tls });
  const proxies = new Map<string, HttpsAgent>();
  const proxyPossible = (environment['HTTPS_PROXY'] || environment['https_proxy'] || '') !== '';
  const ProxyAgent = proxyPossible ? (await import('https-proxy-agent')).HttpsProxyAgent : null;

  const throughProxy = (proxy: string, settings: object): HttpsAgent =>
    new (ProxyAgent as unknown as new (proxy: string, settings: object) => HttpsAgent)(proxy, { ...settings, ...tls });

  return {
    choose(url, fresh) {
      const proxy = ProxyAgent === null ? null : proxyFor(url, environment);
      if (proxy !== null) {
        if (fresh) return throughProxy(proxy, { keepAlive: false });
        const known = proxies.get(proxy) ?? throughProxy(proxy, pool);
        proxies.set(proxy, known);
        return known;
      }
      if (!fresh) return url.protocol === 'https:' ? https : http;
      return url.protocol === 'https:'
        ? new HttpsAgent({ keepAlive: false, ...tls })
        : new HttpAgent({ keepAlive: false });
    },
    close() {
      for (const agent of [http, https, ...proxies.values()]) agent.destroy();
    },
  };
}
