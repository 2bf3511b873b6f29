//! Transactions are the same by markers, by a transaction index, and from a snapshot on.

use kafkaspec::spec::control_record::{
    control_record_type, write_control_record_key, write_control_record_value, ControlRecordKey,
    ControlRecordValue, EndTransactionMarker,
};
use kafkaspec::spec::producer_snapshot::{ProducerEntry, ProducerSnapshot};
use kafkaspec::spec::transaction_index::{write_aborted_transaction, AbortedTransaction};
use kafkaspec::{
    read_transaction_index, write_batch, Aborted, BatchOptions, Error, Record, Segment, Transactions,
};

const PRODUCER: i64 = 7;

fn batch(to: &mut Vec<u8>, offset: i64, producer_id: i64, ends: Option<i64>) -> Result<(), Error> {
    let (mut key, mut value) = (Vec::new(), Vec::new());
    if let Some(kind) = ends {
        let named = ControlRecordKey { r#type: kind as i16, ..ControlRecordKey::default() };
        write_control_record_key(&mut key, &named)?;
        let marker = EndTransactionMarker::default();
        write_control_record_value(&mut value, &ControlRecordValue::EndTransactionMarker(marker))?;
    }
    let record = Record { offset, timestamp: 0, key: Some(&key), value: Some(&value), headers: vec![] };
    let options = BatchOptions {
        producer_id,
        is_transactional: producer_id >= 0,
        is_control: ends.is_some(),
        ..BatchOptions::default()
    };
    write_batch(to, &[record], &options)
}

fn seen(log: &[u8], transactions: &Transactions) -> Result<Vec<i64>, Error> {
    let mut found = Vec::new();
    for stored in Segment::new(log) {
        let head = stored?.header;
        if !transactions.hides(&head) {
            found.push(head.base_offset);
        }
    }
    Ok(found)
}

#[test]
fn markers_an_index_and_a_snapshot_agree() -> Result<(), Error> {
    let (abort, commit) = (Some(control_record_type::ABORT), Some(control_record_type::COMMIT));
    let mut first = Vec::new();
    batch(&mut first, 0, -1, None)?;
    batch(&mut first, 1, PRODUCER, None)?;
    let mut second = Vec::new();
    batch(&mut second, 2, PRODUCER, None)?;
    batch(&mut second, 3, PRODUCER + 1, None)?;
    batch(&mut second, 4, PRODUCER, abort)?;
    batch(&mut second, 5, PRODUCER + 1, commit)?;
    batch(&mut second, 6, PRODUCER, None)?;
    batch(&mut second, 7, -1, None)?;
    let log = [&first[..], &second].concat();

    let by_markers = Transactions::of(&log)?;
    let aborted = Aborted { producer_id: PRODUCER, first_offset: 1, marker: 4 };
    assert_eq!(by_markers.aborted().collect::<Vec<_>>(), [aborted]);
    assert_eq!(by_markers.last_stable_offset(), Some(6));
    assert_eq!(seen(&log, &by_markers)?, [0, 3]);

    let entry = AbortedTransaction {
        producer_id: PRODUCER,
        first_offset: 1,
        last_offset: 4,
        ..AbortedTransaction::default()
    };
    let mut file = Vec::new();
    write_aborted_transaction(&mut file, &entry)?;
    let size = file.len();
    write_aborted_transaction(&mut file, &entry)?;
    for cut in size..file.len() {
        assert_eq!(read_transaction_index(&file[..cut])?, std::slice::from_ref(&entry));
    }
    let mut listed = Transactions::default();
    listed.list(&[entry]);
    assert_eq!(seen(&log, &listed)?, [0, 3, 6, 7]);
    listed.end_at(6);
    assert_eq!(seen(&log, &listed)?, [0, 3]);

    let open = ProducerEntry {
        producer_id: PRODUCER,
        current_txn_first_offset: 1,
        ..ProducerEntry::default()
    };
    let none = ProducerEntry { current_txn_first_offset: -1, ..ProducerEntry::default() };
    let mut followed = Transactions::default();
    followed.begin_with(&ProducerSnapshot { entries: vec![none, open], ..Default::default() });
    for stored in Segment::new(&second) {
        followed.take(&stored?)?;
    }
    assert_eq!(followed.aborted().collect::<Vec<_>>(), [aborted]);
    assert_eq!(seen(&log, &followed)?, [0, 3]);
    Ok(())
}
