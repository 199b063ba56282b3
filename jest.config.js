/** Jest runs the TypeScript sources as native ES modules; swc only strips the types. */
export default {
  testEnvironment: 'node',
  roots: ['<rootDir>/test', '<rootDir>/property-tests'],
  testMatch: ['**/*.test.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: {
          target: 'es2022',
          experimental: { keepImportAttributes: true },
          parser: { syntax: 'typescript', explicitResourceManagement: true },
        },
        module: { type: 'es6' },
      },
    ],
  },
  moduleNameMapper: {
    '^vmchart$': '<rootDir>/index.ts',
    '^vmchart/emulator$': '<rootDir>/adapters/emulator/index.ts',
    '^vmchart/(machines|model|effects|adapters)$': '<rootDir>/$1/index.ts',
  },
  maxWorkers: 2,
  testTimeout: 20_000,
};
