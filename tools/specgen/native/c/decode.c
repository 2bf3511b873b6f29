/* Put back what a run wrote row by row, so that rows of a batch that failed half-way do not count.
 * Record loops keep their state in locals and need this at most once. */
int ks_decode(const ks_buffer *buffers, int buffers_count, const int64_t *batches, int64_t first,
              int64_t count, ks_out *out, int64_t *failed, int64_t *position)
{
    for (int i = 0; i < ks_bytes_count; i++)
        if (out->bytes[i].wanted && out->bytes[i].validity && ks_bytes_list[i] < 0)
            ks_set_bits(out->bytes[i].validity, out->rows, out->capacity);
    for (int i = 0; i < ks_bytes_count; i++)
        if (out->bytes[i].wanted && out->bytes[i].validity && ks_bytes_list[i] >= 0) {
            const ks_list_out *list = &out->lists[ks_bytes_list[i]];
            ks_set_bits(out->bytes[i].validity, list->used, list->capacity);
        }
    for (int64_t i = first; i < first + count; i++) {
        const int64_t rows = out->rows;
        ks_bytes_out bytes[@BYTES@];
        ks_list_out lists[@LISTS@];
        memcpy(bytes, out->bytes, (size_t)ks_bytes_count * sizeof *bytes);
        memcpy(lists, out->lists, (size_t)ks_lists_count * sizeof *lists);
        /* The caller's memory may change meanwhile: what is checked is what is used. */
        int64_t batch[KS_BATCH_FIELDS];
        memcpy(batch, batches + i * KS_BATCH_FIELDS, sizeof batch);
        int status = decode_batch(buffers, buffers_count, batch, out, position);
        if (KS_UNLIKELY(status != KS_OK)) {
            out->rows = rows;
            memcpy(out->bytes, bytes, (size_t)ks_bytes_count * sizeof *bytes);
            memcpy(out->lists, lists, (size_t)ks_lists_count * sizeof *lists);
            *failed = i;
            return status;
        }
    }
    return KS_OK;
}
