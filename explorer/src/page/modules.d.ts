declare module 'kafkaspec:worker' {
  const source: string;
  export default source;
}
declare module '*.css';
