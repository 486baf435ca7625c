/** Every sentence and label of the page, by page. Verdicts and advice are the service's own words. */
export * from './charts'
export * from './common'
export * from './compare'
export * from './hosts'
export * from './run'
export * from './runs'
export * from './team'
