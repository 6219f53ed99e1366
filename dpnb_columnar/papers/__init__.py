"""What is signed: the release sheet, model cards, registry entries, and the record that they rest on."""
