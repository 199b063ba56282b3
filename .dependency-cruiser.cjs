/** The import arrows of the house: machines <- model; machines <- effects <- adapters; index on top. */
const only = (from, allowed, comment) => ({
  name: `${from}-imports`,
  comment,
  severity: 'error',
  from: { path: `^${from}/` },
  to: { path: '^(machines|model|effects|adapters|index\\.ts)', pathNot: allowed },
});

module.exports = {
  forbidden: [
    only('machines', '^machines/', 'Machines are pure: they know nothing but each other.'),
    only('model', '^(model|machines)/', 'The model sees the machines and nothing that acts.'),
    only('effects', '^(effects|machines)/', 'Effects know ports, never what stands behind them.'),
    {
      ...only(
        'adapters',
        '^(adapters|effects|machines)/',
        'Of the adapters only the command line may also see the model.',
      ),
      from: { path: '^adapters/', pathNot: '^adapters/cli/' },
    },
    only(
      'adapters/cli',
      '^(adapters|effects|machines|model)/',
      'The command line is the one place that shows the model.',
    ),
    {
      name: 'machines-and-model-are-pure',
      comment: 'No clock, no randomness, no I/O: not even by import.',
      severity: 'error',
      from: { path: '^(machines|model)/' },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'effects-use-ports',
      comment: 'An effect reaches the network, the disk and the clock through a port.',
      severity: 'error',
      from: { path: '^effects/' },
      to: { path: '^(got|node:fs|fs|node:http|http|node:https|https|node:net|net|node:child_process|child_process)$' },
    },
    {
      name: 'no-circular',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^dist/' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default', 'types'] },
  },
};
