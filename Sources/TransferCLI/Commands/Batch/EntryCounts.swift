internal import TransferModel

/// Counts the entries of an archive that are not files, and entries whose attributes were changed.
struct EntryCounts {
    private var counts: [EntryForm: Int] = [:]
    /// Number of entries, including files, that existed and got other attributes.
    private var attributes = 0

    /// Whether no entry was counted.
    var isEmpty: Bool { counts.isEmpty && attributes == 0 }

    /// Counts an entry that was created, or in a dry run would be created.
    mutating func add(_ form: EntryForm) { counts[form, default: 0] += 1 }

    /// Counts an entry whose attributes were changed.
    mutating func addAttributes() { attributes += 1 }

    /// Phrases such as `3 folders`, for a summary.
    var words: [String] {
        let made = [(EntryForm.folder, "folder"), (.link, "link"), (.hardLink, "hard link")].compactMap { form, name in
            counts[form].map { "\($0) \(name)\($0 == 1 ? "" : "s")" }
        }
        return made + (attributes > 0 ? ["\(attributes) with other attributes"] : [])
    }
}
