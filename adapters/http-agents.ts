/** Connection pools, proxies and certificate authorities for the HTTP port. */
import { readFile } from 'node:fs/promises';
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { rootCertificates } from 'node:tls';
import type { HttpsProxyAgent } from 'https-proxy-agent';
import { VmchartError } from '../effects/errors.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Settings of the connections. */
export interface AgentOptions {
  /** Certificate authorities to trust beside the built-in ones, in PEM form. */
  readonly certificateAuthority?: string | Uint8Array | readonly (string | Uint8Array)[];
  /** Where `HTTPS_PROXY`, `NO_PROXY`, `AWS_CA_BUNDLE` and `NODE_EXTRA_CA_CERTS` are read; the process's by default. */
  readonly environment?: Environment;
  /** The most connections to one host. 64 by default. */
  readonly maxSockets?: number;
}

/** Agents by protocol, as `got` takes them. */
interface AgentPair {
  readonly http?: HttpAgent;
  readonly https?: HttpsAgent;
}

/** The pools of one HTTP port. */
export interface Agents {
  /** The pools that requests use unless {@link choose} says otherwise. */
  readonly shared: AgentPair;
  /** What a request needs instead of the shared pools: a proxy, or a one-off agent for a new connection. */
  choose(url: string, fresh: boolean): { agent?: AgentPair };
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
      const [, name = entry, onlyPort] = /^(\[.+\]|[^:]+)(?::(\d+))?$/.exec(entry) ?? [];
      if (onlyPort !== undefined && onlyPort !== port) return false;
      const suffix = name.replaceAll(/^\*?\.|[[\]]/g, '');
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
  const own = options.certificateAuthority ?? [];
  const list = typeof own === 'string' || own instanceof Uint8Array ? [own] : own;
  const bundle = await readBundle('AWS_CA_BUNDLE', environment);
  if (list.length + bundle.length === 0) return undefined;
  const extra = await readBundle('NODE_EXTRA_CA_CERTS', environment);
  const given = list.map((pem) => (typeof pem === 'string' ? pem : Buffer.from(pem)));
  return [...rootCertificates, ...extra, ...bundle, ...given];
}

/** The certificates of a file that a variable names; none when it is not set. */
async function readBundle(variable: string, environment: Environment): Promise<string[]> {
  const path = environment[variable];
  if (path === undefined || path === '') return [];
  try {
    return [await readFile(path, 'utf8')];
  } catch (error) {
    throw new VmchartError('InvalidArg', `${variable} names a file that cannot be read: ${path}.`, {
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

  const throughProxy = (Agent: typeof HttpsProxyAgent<string>, proxy: string, settings: object): HttpsAgent => {
    const agent = new Agent(proxy, { ...settings, ...tls });
    // The package keeps what it is given for the way to the proxy; the way through it reads the agent's options.
    Object.assign(agent.options, tls);
    return agent as unknown as HttpsAgent;
  };

  return {
    shared: { http, https },
    choose(address, fresh) {
      // The common case costs nothing: no proxy is named anywhere and the pool will do.
      if (ProxyAgent === null && !fresh) return {};
      const url = new URL(address);
      const proxy = proxyFor(url, environment);
      if (proxy === null || ProxyAgent === null) return fresh ? { agent: oneOff(url.protocol === 'https:', tls) } : {};
      if (fresh) return { agent: { https: throughProxy(ProxyAgent, proxy, { keepAlive: false }) } };
      const known = proxies.get(proxy) ?? throughProxy(ProxyAgent, proxy, pool);
      proxies.set(proxy, known);
      return { agent: { https: known } };
    },
    close() {
      for (const agent of [http, https, ...proxies.values()]) agent.destroy();
    },
  };
}

/** An agent for one request, whose connection ends with it. */
function oneOff(secure: boolean, tls: object): AgentPair {
  return secure
    ? { https: new HttpsAgent({ keepAlive: false, ...tls }) }
    : { http: new HttpAgent({ keepAlive: false }) };
}
