//! Tables as Arrow IPC: written as they are in memory, but for dictionaries.
//!
//! A file, unlike a stream, has one dictionary for all its batches, and ours come with one each.

use std::sync::Arc;

use anyhow::Result;
use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

/// The schema with the values of dictionaries in their place.
pub(super) fn without_dictionaries(schema: &Schema) -> SchemaRef {
    let plain = |field: &Arc<Field>| match field.data_type() {
        DataType::Dictionary(_, values) => field.as_ref().clone().with_data_type(values.as_ref().clone()),
        _ => field.as_ref().clone(),
    };
    Arc::new(Schema::new_with_metadata(
        schema.fields().iter().map(plain).collect::<Vec<_>>(),
        schema.metadata().clone(),
    ))
}

/// The batch with the values of dictionaries in their place.
pub(super) fn unpacked(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let plain = |array: &ArrayRef| match array.as_any_dictionary_opt() {
        Some(dictionary) => arrow_select::take::take(dictionary.values(), dictionary.keys(), None),
        None => Ok(Arc::clone(array)),
    };
    let columns = batch.columns().iter().map(plain).collect::<Result<Vec<_>, _>>()?;
    Ok(RecordBatch::try_new(Arc::clone(schema), columns)?)
}
