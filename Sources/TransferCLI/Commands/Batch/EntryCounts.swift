internal import TransferModel

/// Counts what is no file of an archive, and other names of files.
struct EntryCounts {
    private var counts: [EntryForm: Int] = [:]
    /// What was there and has other attributes now, files among it.
    private var attributes = 0

    /// Whether nothing was counted.
    var isEmpty: Bool { counts.isEmpty && attributes == 0 }

    /// Counts one that was made, or would be.
    mutating func add(_ form: EntryForm) { counts[form, default: 0] += 1 }

    /// Counts one that has other attributes now.
    mutating func addAttributes() { attributes += 1 }

    /// Such as `3 folders`, in the order in which they are told.
    var words: [String] {
        let made = [(EntryForm.folder, "folder"), (.link, "link"), (.hardLink, "hard link")].compactMap { form, name in
            counts[form].map { "\($0) \(name)\($0 == 1 ? "" : "s")" }
        }
        return made + (attributes > 0 ? ["\(attributes) with other attributes"] : [])
    }
}
