/** From method and raw path to an operation (`control-plane-api.md` 9). */

/** The operations of the service that the emulator serves. */
export const operationNames = [
  'RunMicrovm',
  'GetMicrovm',
  'ListMicrovms',
  'SuspendMicrovm',
  'ResumeMicrovm',
  'TerminateMicrovm',
  'CreateMicrovmAuthToken',
  'CreateMicrovmShellAuthToken',
  'CreateMicrovmImage',
  'GetMicrovmImage',
  'ListMicrovmImages',
  'UpdateMicrovmImage',
  'DeleteMicrovmImage',
  'GetMicrovmImageVersion',
  'ListMicrovmImageVersions',
  'UpdateMicrovmImageVersion',
  'DeleteMicrovmImageVersion',
  'ListMicrovmImageBuilds',
  'GetMicrovmImageBuild',
  'ListManagedMicrovmImages',
  'ListManagedMicrovmImageVersions',
  'TagResource',
  'UntagResource',
  'ListTags',
] as const;

/** One of the 24 operations. */
export type OperationName = (typeof operationNames)[number];

/** `[method, path template, operation]`; a `*` segment is a label. */
const table: readonly (readonly [string, string, OperationName])[] = [
  ['POST', '/2025-09-09/microvms', 'RunMicrovm'],
  ['GET', '/2025-09-09/microvms', 'ListMicrovms'],
  ['GET', '/2025-09-09/microvms/*', 'GetMicrovm'],
  ['DELETE', '/2025-09-09/microvms/*', 'TerminateMicrovm'],
  ['POST', '/2025-09-09/microvms/*/suspend', 'SuspendMicrovm'],
  ['POST', '/2025-09-09/microvms/*/resume', 'ResumeMicrovm'],
  ['POST', '/2025-09-09/microvms/*/auth-token', 'CreateMicrovmAuthToken'],
  ['POST', '/2025-09-09/microvms/*/shell-auth-token', 'CreateMicrovmShellAuthToken'],
  ['POST', '/2025-09-09/microvm-images', 'CreateMicrovmImage'],
  ['GET', '/2025-09-09/microvm-images', 'ListMicrovmImages'],
  ['GET', '/2025-09-09/microvm-images/*', 'GetMicrovmImage'],
  ['PUT', '/2025-09-09/microvm-images/*', 'UpdateMicrovmImage'],
  ['DELETE', '/2025-09-09/microvm-images/*', 'DeleteMicrovmImage'],
  ['GET', '/2025-09-09/microvm-images/*/versions', 'ListMicrovmImageVersions'],
  ['GET', '/2025-09-09/microvm-images/*/versions/*', 'GetMicrovmImageVersion'],
  ['PATCH', '/2025-09-09/microvm-images/*/versions/*', 'UpdateMicrovmImageVersion'],
  ['DELETE', '/2025-09-09/microvm-images/*/versions/*', 'DeleteMicrovmImageVersion'],
  ['GET', '/2025-09-09/microvm-images/*/versions/*/builds', 'ListMicrovmImageBuilds'],
  ['GET', '/2025-09-09/microvm-images/*/versions/*/builds/*', 'GetMicrovmImageBuild'],
  ['GET', '/2025-09-09/managed-microvm-images', 'ListManagedMicrovmImages'],
  ['GET', '/2025-09-09/managed-microvm-images/*/versions', 'ListManagedMicrovmImageVersions'],
  ['POST', '/2017-03-31/tags/*', 'TagResource'],
  ['DELETE', '/2017-03-31/tags/*', 'UntagResource'],
  ['GET', '/2017-03-31/tags/*', 'ListTags'],
];

const routes = table.map(([method, template, operation]) => ({
  method,
  operation,
  segments: template.slice(1).split('/'),
}));

/** Where a request goes. */
export interface Route {
  readonly operation: OperationName;
  readonly labels: readonly string[];
}

/**
 * Finds the operation. The raw path is split first and decoded afterwards, so that an encoded slash stays inside its
 * label; raw colons are accepted. Null for a path that the gateway does not know.
 */
export function findRoute(method: string, rawPath: string): Route | null {
  const segments = rawPath.slice(1).split('/');
  for (const route of routes) {
    if (route.method !== method || route.segments.length !== segments.length) continue;
    const labels: string[] = [];
    const fits = route.segments.every((expected, index) => {
      const segment = segments[index] ?? '';
      if (expected !== '*') return expected === segment;
      const label = decodeLabel(segment);
      if (label === null || label === '') return false;
      labels.push(label);
      return true;
    });
    if (fits) return { operation: route.operation, labels };
  }
  return null;
}

function decodeLabel(segment: string): string | null {
  try {
    return decodeURIComponent(segment);
  } catch {
    return null;
  }
}

/** Query members with all their values; null when the text cannot be read, such as a raw `=` inside a value. */
export function readQuery(raw: string): Map<string, string[]> | null {
  const query = new Map<string, string[]>();
  for (const part of raw.split('&')) {
    if (part === '') continue;
    const [name = '', value = '', ...more] = part.split('=');
    if (more.length > 0) return null;
    const [decodedName, decodedValue] = [decodeLabel(name), decodeLabel(value)];
    if (decodedName === null || decodedValue === null) return null;
    query.set(decodedName, [...(query.get(decodedName) ?? []), decodedValue]);
  }
  return query;
}
