/** The operations as calls: method, path and body of each (`control-plane-api.md` sections 8 and 9). Pure. */
import type { Call } from './caller.ts';
import { apiVersion, checkLabel, encodeLabel, encodeQuery, stableJson } from './encode.ts';
import type { QueryValue } from './encode.ts';
import { secretsInPayload } from './payload.ts';
import type { CreateMicrovmImageRequest, PortSpecification, RunMicrovmRequest } from './wire.ts';

function path(segments: readonly string[], query: Readonly<Record<string, QueryValue>> = {}): string {
  const search = encodeQuery(query);
  return `/${[apiVersion, ...segments].map(encodeLabel).join('/')}${search === '' ? '' : `?${search}`}`;
}

function ofMicrovm(microvmId: string, ...rest: string[]): { path: string; microvmId: string } {
  checkLabel('microvmIdentifier', microvmId);
  return { path: path(['microvms', microvmId, ...rest]), microvmId };
}

function ofImage(image: string, ...rest: string[]): string {
  checkLabel('imageIdentifier', image);
  return path(['microvm-images', image, ...rest]);
}

function ofVersion(image: string, version: string, ...rest: string[]): string {
  checkLabel('imageVersion', version, 2_048);
  return ofImage(image, 'versions', version, ...rest);
}

/** A page of a listing: the cursor is opaque. */
export interface PageQuery {
  readonly nextToken?: string;
}

/** Server-side filters of `ListMicrovms`: exact image, exact version. */
export interface MicrovmFilter {
  readonly imageIdentifier?: string;
  readonly imageVersion?: string;
}

export function runMicrovm(request: RunMicrovmRequest): Call {
  return {
    operation: 'RunMicrovm',
    method: 'POST',
    path: path(['microvms']),
    body: stableJson(request),
    secrets: secretsInPayload(request.runHookPayload),
    mayRetryDenied: true,
  };
}

export function getMicrovm(microvmId: string): Call {
  return { operation: 'GetMicrovm', method: 'GET', ...ofMicrovm(microvmId) };
}

export function listMicrovms(filter: MicrovmFilter & PageQuery): Call {
  const { imageIdentifier, imageVersion, nextToken } = filter;
  return {
    operation: 'ListMicrovms',
    method: 'GET',
    path: path(['microvms'], { imageIdentifier, imageVersion, nextToken }),
  };
}

/** Sends no body, as the official clients do. */
export function suspendMicrovm(microvmId: string): Call {
  return { operation: 'SuspendMicrovm', method: 'POST', ...ofMicrovm(microvmId, 'suspend') };
}

/** Sends no body, so nothing is delivered a second time. */
export function resumeMicrovm(microvmId: string): Call {
  return { operation: 'ResumeMicrovm', method: 'POST', ...ofMicrovm(microvmId, 'resume') };
}

export function terminateMicrovm(microvmId: string): Call {
  return { operation: 'TerminateMicrovm', method: 'DELETE', ...ofMicrovm(microvmId) };
}

export function createMicrovmAuthToken(
  microvmId: string,
  allowedPorts: readonly PortSpecification[],
  expirationInMinutes: number,
): Call {
  return {
    operation: 'CreateMicrovmAuthToken',
    method: 'POST',
    ...ofMicrovm(microvmId, 'auth-token'),
    body: stableJson({ allowedPorts, expirationInMinutes }),
  };
}

export function createMicrovmShellAuthToken(microvmId: string, expirationInMinutes: number): Call {
  return {
    operation: 'CreateMicrovmShellAuthToken',
    method: 'POST',
    ...ofMicrovm(microvmId, 'shell-auth-token'),
    body: stableJson({ expirationInMinutes }),
  };
}

export function createMicrovmImage(request: CreateMicrovmImageRequest, clientToken: string): Call {
  return {
    operation: 'CreateMicrovmImage',
    method: 'POST',
    path: path(['microvm-images']),
    body: stableJson({ ...request, clientToken }),
    secrets: Object.values(request.environmentVariables ?? {}).filter((value) => value.length >= 8),
  };
}

export function getMicrovmImage(image: string): Call {
  return { operation: 'GetMicrovmImage', method: 'GET', path: ofImage(image) };
}

/** `nameFilter` matches substrings, and pages are cut before it is applied. */
export function listMicrovmImages(query: PageQuery & { readonly nameFilter?: string }): Call {
  const { nameFilter, nextToken } = query;
  return { operation: 'ListMicrovmImages', method: 'GET', path: path(['microvm-images'], { nameFilter, nextToken }) };
}

export function deleteMicrovmImage(image: string): Call {
  return { operation: 'DeleteMicrovmImage', method: 'DELETE', path: ofImage(image) };
}

export function listMicrovmImageVersions(image: string, query: PageQuery): Call {
  const search = encodeQuery({ nextToken: query.nextToken });
  return {
    operation: 'ListMicrovmImageVersions',
    method: 'GET',
    path: `${ofImage(image, 'versions')}${search === '' ? '' : `?${search}`}`,
  };
}

export function getMicrovmImageVersion(image: string, version: string): Call {
  return { operation: 'GetMicrovmImageVersion', method: 'GET', path: ofVersion(image, version) };
}

export function updateMicrovmImageVersion(image: string, version: string, status: 'ACTIVE' | 'INACTIVE'): Call {
  return {
    operation: 'UpdateMicrovmImageVersion',
    method: 'PATCH',
    path: ofVersion(image, version),
    body: stableJson({ status }),
  };
}

export function deleteMicrovmImageVersion(image: string, version: string): Call {
  return { operation: 'DeleteMicrovmImageVersion', method: 'DELETE', path: ofVersion(image, version) };
}

export function listMicrovmImageBuilds(image: string, version: string, query: PageQuery): Call {
  const search = encodeQuery({ nextToken: query.nextToken });
  return {
    operation: 'ListMicrovmImageBuilds',
    method: 'GET',
    path: `${ofVersion(image, version, 'builds')}${search === '' ? '' : `?${search}`}`,
  };
}

export function getMicrovmImageBuild(image: string, version: string, buildId: string): Call {
  checkLabel('buildId', buildId, 2_048);
  return { operation: 'GetMicrovmImageBuild', method: 'GET', path: ofVersion(image, version, 'builds', buildId) };
}

export function listManagedMicrovmImages(query: PageQuery): Call {
  return {
    operation: 'ListManagedMicrovmImages',
    method: 'GET',
    path: path(['managed-microvm-images'], { nextToken: query.nextToken }),
  };
}

export function listManagedMicrovmImageVersions(image: string, query: PageQuery): Call {
  checkLabel('imageIdentifier', image);
  return {
    operation: 'ListManagedMicrovmImageVersions',
    method: 'GET',
    path: path(['managed-microvm-images', image, 'versions'], { nextToken: query.nextToken }),
  };
}
