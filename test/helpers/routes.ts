/** The service's routes, for doubles that answer by operation. */

const routes: readonly (readonly [string, RegExp, string])[] = [
  ['POST', /^\/microvms$/, 'RunMicrovm'],
  ['GET', /^\/microvms$/, 'ListMicrovms'],
  ['GET', /^\/microvms\/[^/]+$/, 'GetMicrovm'],
  ['DELETE', /^\/microvms\/[^/]+$/, 'TerminateMicrovm'],
  ['POST', /^\/microvms\/[^/]+\/suspend$/, 'SuspendMicrovm'],
  ['POST', /^\/microvms\/[^/]+\/resume$/, 'ResumeMicrovm'],
  ['POST', /^\/microvms\/[^/]+\/auth-token$/, 'CreateMicrovmAuthToken'],
  ['POST', /^\/microvms\/[^/]+\/shell-auth-token$/, 'CreateMicrovmShellAuthToken'],
  ['POST', /^\/microvm-images$/, 'CreateMicrovmImage'],
  ['GET', /^\/microvm-images$/, 'ListMicrovmImages'],
  ['GET', /^\/microvm-images\/[^/]+$/, 'GetMicrovmImage'],
  ['DELETE', /^\/microvm-images\/[^/]+$/, 'DeleteMicrovmImage'],
  ['GET', /^\/microvm-images\/[^/]+\/versions$/, 'ListMicrovmImageVersions'],
  ['GET', /^\/microvm-images\/[^/]+\/versions\/[^/]+$/, 'GetMicrovmImageVersion'],
  ['PATCH', /^\/microvm-images\/[^/]+\/versions\/[^/]+$/, 'UpdateMicrovmImageVersion'],
  ['DELETE', /^\/microvm-images\/[^/]+\/versions\/[^/]+$/, 'DeleteMicrovmImageVersion'],
  ['GET', /^\/microvm-images\/[^/]+\/versions\/[^/]+\/builds$/, 'ListMicrovmImageBuilds'],
  ['GET', /^\/microvm-images\/[^/]+\/versions\/[^/]+\/builds\/[^/]+$/, 'GetMicrovmImageBuild'],
  ['GET', /^\/managed-microvm-images$/, 'ListManagedMicrovmImages'],
  ['GET', /^\/managed-microvm-images\/[^/]+\/versions$/, 'ListManagedMicrovmImageVersions'],
];

/** The operation of a request, by its method and its path with or without the version. */
export function operationOf(method: string, pathname: string): string | undefined {
  const path = pathname.replace(/^\/2025-09-09/, '');
  return routes.find(([verb, pattern]) => verb === method && pattern.test(path))?.[2];
}
