internal import TransferClient
internal import TransferModel

/// The words for changes in the output.
enum SyncWords {
    /// Words for `sync`, which say what is done.
    case doing
    /// Words for `check`, which say how the sides differ.
    case comparing

    func word(_ action: SyncChange.Action) -> String {
        switch (self, action) {
        case (.doing, .new), (.doing, .changed), (.doing, .moved), (.doing, .removed): action.rawValue
        case (.doing, .folder), (.doing, .link), (.doing, .hardLink): "made"
        case (.doing, .attributes), (.comparing, .attributes): "attributes"
        case (.doing, .cleared): "removed"
        case (.comparing, .new), (.comparing, .folder), (.comparing, .link), (.comparing, .hardLink): "missing"
        case (.comparing, .changed): "differs"
        case (.comparing, .moved): "moved"
        case (.comparing, .removed), (.comparing, .cleared): "extra"
        case (_, .unreadable), (_, .skipped), (_, .conflict), (_, .kept): action.rawValue
        }
    }
}

extension SyncChange {
    /// The line that is printed without `--json`.
    func line(_ words: SyncWords) -> String {
        let shown = path.isEmpty ? "." : path
        var text = isDone || [.skipped, .conflict].contains(action) ? "\(words.word(action))  " : "\(result)  "
        if let origin, action == .moved { text += "\(origin.escapedForDisplay) -> " }
        text += shown.escapedForDisplay
        if let origin, action == .hardLink { text += " = \(origin.escapedForDisplay)" }
        switch action {
        case .new, .changed: text += "  \(ByteFormat.size(size))"
        case .removed where count > 1, .cleared where count > 1: text += "/  \(count) entries"
        default: break
        }
        return isDone || message.isEmpty ? text : "\(text): \(message.escapedForDisplay)"
    }

    /// The object of `--json`; every key is always there.
    func json(isDryRun: Bool) -> JSONLine {
        [
            "schema": .string(JSONSchema.syncChange), "action": .string(action.rawValue), "path": .string(path),
            "origin": origin.map { .string($0) } ?? .null, "copy": copy.map { .string($0) } ?? .null,
            "size": .integer(size), "count": .integer(UInt64(count)),
            "result": .string(result.name), "message": .string(message), "dryRun": .bool(isDryRun),
        ]
    }
}

extension SyncSummary {
    /// One line for people.
    ///
    /// - Parameter seconds: the duration.
    func line(_ words: SyncWords, seconds: Double) -> String {
        var parts: [String] = []
        switch words {
        case .doing:
            parts.append("\(sent.grouped) sent" + (sent > 0 ? " (\(ByteFormat.size(sentBytes)))" : ""))
            parts.append("\(unchanged.grouped) unchanged")
            parts += [(moved, "moved"), (created, "made"), (attributes, "with other attributes")].filter { $0.0 > 0 }
                .map { "\($0.0.grouped) \($0.1)" }
        case .comparing:
            parts.append("\(unchanged.grouped) the same")
            let different = sent + moved + created + attributes
            parts.append("\(different.grouped) different or missing")
        }
        if excluded > 0 { parts.append("\(excluded.grouped) left out") }
        if kept > 0 { parts.append("\(kept.grouped) newer there") }
        if conflicts > 0 { parts.append("\(conflicts.grouped) in conflict") }
        if deleted > 0 { parts.append("\(deleted.grouped) \(words == .doing ? "deleted" : "extra")") }
        if failed > 0 { parts.append("\(failed.grouped) failed") }
        return parts.joined(separator: ", ") + ", in \(seconds.shown(decimals: 2)) s"
    }

    /// The object of `--json`; every key is always there.
    func json(isDryRun: Bool, seconds: Double) -> JSONLine {
        [
            "schema": .string(JSONSchema.syncSummary), "sent": .integer(UInt64(sent)), "sentBytes": .integer(sentBytes),
            "unchanged": .integer(UInt64(unchanged)), "excluded": .integer(UInt64(excluded)),
            "moved": .integer(UInt64(moved)), "created": .integer(UInt64(created)),
            "attributes": .integer(UInt64(attributes)), "deleted": .integer(UInt64(deleted)),
            "conflicts": .integer(UInt64(conflicts)), "kept": .integer(UInt64(kept)),
            "failed": .integer(UInt64(failed)), "deletionStop": deletionStop.map { .string($0) } ?? .null,
            "trash": .array(trash.keys.map(\.name).sorted().map { .string($0) }),
            "dryRun": .bool(isDryRun), "seconds": .double(seconds),
        ]
    }
}

extension Int {
    /// The number with commas between thousands: `19,988`.
    fileprivate var grouped: String {
        let digits = String(self)
        var text = ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index) % 3 == 0 { text += "," }
            text.append(digit)
        }
        return text
    }
}
