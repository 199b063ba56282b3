/** From an answer's bytes to plain records; an answer that cannot be read is an error of its own. */
import type { z } from 'zod';
import type { MicrovmDescription } from '../../machines/index.ts';
import { VmchartError } from '../errors.ts';
import type { HttpResponse } from '../ports.ts';
import { requestIdOf } from './classify.ts';
import type * as Schemas from './schemas.ts';
import type { MicrovmImage, MicrovmImageBuild, MicrovmImageVersion, MicrovmSummary } from './wire.ts';

let loading: Promise<typeof Schemas> | undefined;

/** Loads the schemas once; a load that failed is tried again by the next call. */
async function schemas(): Promise<typeof Schemas> {
  loading ??= import('./schemas.ts').catch((error: unknown) => {
    loading = undefined;
    throw error;
  });
  return loading;
}

const longestSnippet = 512;
const decoder = new TextDecoder();

function unreadable(operation: string, response: HttpResponse, reason: string, detail: string): VmchartError {
  return new VmchartError('Platform', `${operation} was answered ${response.status} with ${detail}`, {
    reason,
    status: response.status,
    requestId: requestIdOf(response.headers),
  });
}

/** Reads JSON; an empty body reads as an empty object. */
function parse(operation: string, response: HttpResponse, secret: boolean): unknown {
  const text = decoder.decode(response.body);
  if (text.trim() === '') return {};
  try {
    return JSON.parse(text) as unknown;
  } catch {
    const shown = secret ? '' : `: ${text.slice(0, longestSnippet)}`;
    throw unreadable(operation, response, 'unexpected-response', `a body that is not JSON${shown}`);
  }
}

/**
 * Reads an answer by the schema of its operation.
 *
 * @param options - `secret` keeps the body out of messages
 * @throws VmchartError `Platform`, reason `unexpected-response` for a body that is no JSON,
 *   `invalid-response` for one that lacks what nothing can go on without
 */
export async function decode<T>(
  operation: string,
  response: HttpResponse,
  pick: (shapes: typeof Schemas) => z.ZodType<T>,
  options: { readonly secret?: boolean } = {},
): Promise<T> {
  const schema = pick(await schemas());
  const result = schema.safeParse(parse(operation, response, options.secret === true));
  if (result.success) return result.data;
  const where = result.error.issues.map((issue) => issue.path.join('.') || '(top)').join(', ');
  const shown = options.secret === true ? '' : `: ${decoder.decode(response.body).slice(0, longestSnippet)}`;
  throw unreadable(operation, response, 'invalid-response', `a body without a usable ${where}${shown}`);
}

/** Checks an answer that carries nothing: empty or JSON, but not a page from somewhere else. */
export function checkEmpty(operation: string, response: HttpResponse): void {
  parse(operation, response, false);
}

const latestMs = 8.64e15;

/**
 * Reads a timestamp in seconds: a number, a number in a string, or an ISO text that some doubles send.
 *
 * @returns Unix milliseconds, rounded; `null` for anything negative, out of range or unreadable (FC-116)
 */
export function epochMs(value: unknown): number | null {
  const text = typeof value === 'string' ? value.trim() : '';
  const ms = /^\d{4}-\d\d-\d\dT/.test(text)
    ? Date.parse(text)
    : Math.round((typeof value === 'number' ? value : text === '' ? Number.NaN : Number(text)) * 1_000);
  return ms >= 0 && ms <= latestMs ? ms : null;
}

type Shape<K extends keyof typeof Schemas> = z.output<(typeof Schemas)[K]>;

/** A MicroVM in our words. */
export function toDescription(answer: Shape<'microvm'>): MicrovmDescription {
  const policy = answer.idlePolicy ?? null;
  return {
    microvmId: answer.microvmId,
    state: answer.state,
    endpoint: answer.endpoint ?? '',
    imageArn: answer.imageArn ?? '',
    imageVersion: answer.imageVersion ?? '',
    stateReason: answer.stateReason ?? null,
    idlePolicy:
      policy === null
        ? null
        : {
            maxIdleSec: policy.maxIdleDurationSeconds,
            suspendedSec: policy.suspendedDurationSeconds,
            autoResume: policy.autoResumeEnabled,
          },
    maximumDurationSec: answer.maximumDurationInSeconds ?? null,
    startedAtMs: epochMs(answer.startedAt),
    terminatedAtMs: epochMs(answer.terminatedAt),
  };
}

/** An item of `ListMicrovms` in our words. */
export function toSummary(item: Shape<'microvmPage'>['items'][number]): MicrovmSummary {
  return {
    microvmId: item.microvmId,
    state: item.state,
    imageArn: item.imageArn ?? '',
    imageVersion: item.imageVersion ?? '',
    startedAtMs: epochMs(item.startedAt),
  };
}

/** An image in our words. */
export function toImage(answer: Shape<'image'>): MicrovmImage {
  return {
    imageArn: answer.imageArn,
    name: answer.name ?? answer.imageArn.slice(answer.imageArn.lastIndexOf(':') + 1),
    state: answer.state,
    imageVersion: answer.imageVersion ?? null,
    latestActiveImageVersion: answer.latestActiveImageVersion ?? null,
    latestFailedImageVersion: answer.latestFailedImageVersion ?? null,
    createdAtMs: epochMs(answer.createdAt),
    updatedAtMs: epochMs(answer.updatedAt),
  };
}

/** A version of an image in our words. */
export function toImageVersion(answer: Shape<'imageVersion'>): MicrovmImageVersion {
  return {
    imageArn: answer.imageArn ?? '',
    imageVersion: answer.imageVersion,
    state: answer.state ?? '',
    status: answer.status ?? null,
    stateReason: answer.stateReason ?? null,
    minimumMemoryMiB: answer.resources?.[0]?.minimumMemoryInMiB ?? null,
    hookPort: answer.hooks?.port ?? null,
    createdAtMs: epochMs(answer.createdAt),
  };
}

/** A build in our words. */
export function toImageBuild(answer: Shape<'imageBuild'>): MicrovmImageBuild {
  const snapshot = answer.snapshotBuild ?? null;
  return {
    buildId: answer.buildId,
    buildState: answer.buildState,
    stateReason: answer.stateReason ?? null,
    architecture: answer.architecture ?? null,
    chipsetGeneration: answer.chipsetGeneration ?? null,
    snapshot:
      snapshot === null
        ? null
        : {
            memoryBytes: snapshot.memorySnapshotSizeInBytes ?? null,
            codeInstallBytes: snapshot.codeInstallSizeInBytes ?? null,
            diskBytes: snapshot.diskSnapshotSizeInBytes ?? null,
          },
  };
}
