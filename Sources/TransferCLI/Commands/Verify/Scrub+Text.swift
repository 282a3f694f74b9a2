import TransferModel
import TransferServer

extension ScrubFinding {
    /// The line that is printed without `--json`.
    var line: String {
        var text = "\(kind.rawValue)  \(path.escapedForDisplay)  \(ByteFormat.size(size))"
        if !reason.isEmpty { return text + ": \(reason.escapedForDisplay)" }
        if let recorded { text += "  acknowledged as \(recorded)" }
        if let found { text += recorded == nil ? "  \(found)" : ", now \(found)" }
        return text
    }

    /// The object of `--json`; every key is always there.
    var json: JSONLine {
        [
            "schema": .string(JSONSchema.finding), "finding": .string(kind.rawValue), "path": .string(path),
            "size": .integer(size),
            "acknowledged": recorded.map { .string($0.description) } ?? .null,
            "digest": found.map { .string($0.description) } ?? .null, "message": .string(reason),
        ]
    }
}

extension ScrubProgress {
    /// The progress line that is drawn on a terminal.
    var line: String {
        guard let expected else { return "checked \(files) files, \(ByteFormat.size(bytes))" }
        let amount = ByteFormat.portion(min(bytes, expected.bytes), of: expected.bytes)
        return "checked \(min(files, expected.files)) of \(expected.files) files, \(amount)"
    }
}

extension ScrubSummary {
    /// The lines that are printed without `--json`.
    var lines: [String] {
        var lines = [counts]
        if recent.files > 0 {
            lines.append("\(recent.shown) not checked, because just stored, or being moved or replaced")
        }
        if unfinished.files > 0 {
            lines.append("\(unfinished.files) unfinished uploads take \(ByteFormat.size(unfinished.bytes))")
        }
        if let repairs { lines += repairs.lines }
        if let catalogFault {
            lines.append("\(catalogFault.escapedForDisplay) Stop the server and run this with --repair-catalog.")
        }
        if let keepingFault {
            lines.append("Rotten files could not be recorded in the catalog: \(keepingFault.escapedForDisplay)")
        }
        return lines
    }

    private var counts: String {
        let bad = ScrubFinding.Kind.allCases.compactMap { kind in
            findings[kind].map { "\(kind.rawValue): \($0.shown)" }
        }
        let skipped = others == 0 ? [] : ["\(others) that are no files skipped"]
        return (["intact: \(intact.shown)"] + bad + skipped).joined(separator: "; ")
    }

    /// The last object of `--json`.
    var json: JSONLine {
        var line: JSONLine = [
            "schema": .string(JSONSchema.scrub), "finding": .string("summary"), "intact": .integer(intact.files),
        ]
        line.append("intactBytes", .integer(intact.bytes))
        for kind in ScrubFinding.Kind.allCases {
            let count = findings[kind] ?? Count()
            line.append(kind.rawValue, .integer(count.files))
            line.append(kind.rawValue + "Bytes", .integer(count.bytes))
        }
        line.append("recent", .integer(recent.files))
        line.append("others", .integer(others))
        line.append("unfinished", .integer(unfinished.files))
        line.append("unfinishedBytes", .integer(unfinished.bytes))
        line.append("catalogAdded", repairs.map { .integer($0.added) } ?? .null)
        line.append("catalogUpdated", repairs.map { .integer($0.updated) } ?? .null)
        line.append("catalogRemoved", repairs.map { .integer($0.removed) } ?? .null)
        line.append("adopted", repairs.map { .integer($0.adopted) } ?? .null)
        line.append("message", .string(catalogFault ?? keepingFault ?? ""))
        return line
    }
}

extension ScrubSummary.Repairs {
    fileprivate var lines: [String] {
        let moved = movedTo.map { "the old catalog was unusable; it is now '\($0.escapedForDisplay)'" }
        var counts = "catalog: \(added) added, \(updated) brought up to date, \(removed) removed"
        if adopted > 0 { counts += "; \(adopted) files known again in a copy of the directory" }
        return [moved, counts].compactMap(\.self)
    }
}

extension ScrubSummary.Count {
    fileprivate var shown: String { "\(files) file\(files == 1 ? "" : "s"), \(ByteFormat.size(bytes))" }
}
