internal import TransferModel
private import TransferServer

/// The status of a server as text.
struct StatusReport {
    private let answer: JSONNode

    /// - Returns: nil for an answer with another schema.
    init?(_ answer: JSONNode) {
        guard answer.text("schema") == StatusSocket.schema else { return nil }
        self.answer = answer
    }

    /// The report, in lines that each end with a line feed.
    var text: String {
        let tables = [
            table("uploads", ["received", "size", "rate", "time", "from", "path"], upload),
            table("connections", ["address", "client", "since", "stored", "received", "sent", "rate"], connection),
        ]
        return ([Self.lines(summary)] + tables.filter { !$0.isEmpty }).joined(separator: "\n")
    }

    private var summary: [[String]] {
        var lines = [
            ["server", server], ["listening", answer.list("listening").map(\.shown).joined(separator: ", ")],
            ["connections", connections], ["uploads", uploads], ["space", space.joined(separator: "; ")],
            ["stored", stored],
        ]
        for (name, value) in [("mail", mail), ("doubt", doubt), ("adopting", adoption), ("crashes", crashes)] {
            if let value { lines.append([name, value]) }
        }
        return lines
    }

    private var server: String {
        let verb = answer.text("state") == "stopping" ? "stopping" : "serving"
        return "\(answer.shown("agent")), process \(answer.number("pid")), \(verb) \(answer.shown("directory")) "
            + "since \(answer.time("started"))"
    }

    private var connections: String {
        let pending = answer["connections"]?.number("pending") ?? 0
        return "\(answer["connections"]?.number("count") ?? 0)"
            + (pending > 0 ? ", \(pending) of them in the handshake" : "")
    }

    private var uploads: String {
        let uploads = answer["uploads"] ?? .null
        let count = uploads.number("count")
        return "\(count) in progress" + (count > 0 ? ", \(uploads.rate("rate")) together" : "")
    }

    private var space: [String] {
        let space = answer["space"] ?? .null
        var parts: [String] = []
        if let free = space.size("free"), let total = space.size("total") {
            parts.append("\(ByteFormat.size(free)) free of \(ByteFormat.size(total))")
        }
        if let least = space.size("minimumFree") { parts.append("\(ByteFormat.size(least)) stay free") }
        if let used = space.size("quotaUsed"), let quota = space.size("quota") {
            parts.append("\(ByteFormat.size(used)) of the quota of \(ByteFormat.size(quota)) used")
        }
        if space.number("reserved") > 0 { parts.append("\(ByteFormat.size(space.number("reserved"))) still to come") }
        if let unfinished = space["unfinished"], unfinished.number("count") > 0 {
            let bytes = ByteFormat.size(unfinished.number("bytes"))
            let count = unfinished.number("count")
            parts.append(
                count == 1 ? "1 unfinished upload takes \(bytes)" : "\(count) unfinished uploads take \(bytes)")
        }
        return parts
    }

    /// The lines about mailboxes; nil for a server without mailboxes, or an older server.
    private var mail: String? {
        guard let mail = answer["mail"], mail != .null else { return nil }
        guard mail["open"] == .bool(true) else { return "the mailboxes cannot be used; the log says why" }
        let (count, people) = (mail.number("count"), mail.number("mailboxes"))
        let waiting = count == 1 ? "1 delivery waits" : "\(count) deliveries wait"
        let bytes = count > 0 ? " (\(ByteFormat.size(mail.number("bytes"))))" : ""
        let boxes = people == 1 ? "1 person has a mailbox" : "\(people) people have mailboxes"
        return "\(waiting)\(bytes); \(boxes), \(mail.number("connected")) of them connected"
    }

    /// The line about failed syncs; nil if no sync failed, or the server is older.
    private var doubt: String? {
        guard answer["syncFailed"] == .bool(true) else { return nil }
        return "a sync of the disk failed or was interrupted: until the machine is restarted, files without a "
            + "known acknowledgement do not count as stored"
    }

    /// The line about a copied directory; nil if none is being compared, or the server is older.
    private var adoption: String? {
        guard let adoption = answer["adoption"], adoption != .null else { return nil }
        let total = adoption["paths"].flatMap { $0 == .null ? nil : adoption.number("paths") }
        let (mismatched, unreadable) = (adoption.number("mismatched"), adoption.number("unreadable"))
        var parts = [
            "\(adoption.number("compared"))\(total.map { " of \($0)" } ?? "") paths of a copied directory compared with what was "
                + "acknowledged",
            "\(adoption.number("adopted")) files known again, \(ByteFormat.size(adoption.number("bytes"))) read",
        ]
        if mismatched > 0 { parts.append("\(mismatched) not what was acknowledged") }
        if unreadable > 0 { parts.append("\(unreadable) cannot be read") }
        if adoption["waiting"] == .bool(true) { parts.append("waiting, because the disk or the catalog fails") }
        return parts.joined(separator: "; ")
    }

    /// The line about crashes; nil if there were none.
    private var crashes: String? {
        let restarts = answer.number("restarts")
        let count = answer["crashes"]?.number("count") ?? 0
        var parts: [String] = []
        if restarts > 0 { parts.append("started again \(restarts == 1 ? "once" : "\(restarts) times") after a signal") }
        if let latest = answer["crashes"]?["latest"], count > 0 {
            parts.append(
                "\(count) report\(count == 1 ? "" : "s"), the latest of \(latest.shown("signal")) on "
                    + "\(latest.time("time")) in \(latest.shown("report"))")
        }
        return parts.isEmpty ? nil : parts.joined(separator: "; ")
    }

    private var stored: String {
        guard let stored = answer["catalog"]?["stored"] else { return "unknown: the catalog cannot be read" }
        let again = answer["catalog"]?["alreadyStored"]?.number("count") ?? 0
        let count = stored.number("count")
        return "\(count) upload\(count == 1 ? "" : "s"), \(ByteFormat.size(stored.number("bytes")))"
            + (again > 0 ? "; \(again) more were there already" : "")
    }
}

// MARK: Tables

extension StatusReport {
    /// - Returns: an empty text if the list is empty.
    private func table(_ name: String, _ header: [String], _ row: (JSONNode) -> [String]) -> String {
        let entries = answer[name]?.list("list") ?? []
        guard !entries.isEmpty else { return "" }
        let omitted = answer[name]?.number("omitted") ?? 0
        let rows = [header.map { $0.uppercased() }] + entries.map(row)
        return Self.lines(rows) + (omitted > 0 ? "and \(omitted) more\n" : "")
    }

    private func upload(_ upload: JSONNode) -> [String] {
        let size = upload.size("size")
        let share = size.map { "\(ByteFormat.size($0)) (\(ByteFormat.percent(upload.number("received"), of: $0))%)" }
        return [
            ByteFormat.size(upload.number("received")), share ?? "unknown", upload.rate("rate"),
            DurationFormat.clock(upload.real("seconds")), upload.shown("client"), upload.shown("path"),
        ]
    }

    private func connection(_ connection: JSONNode) -> [String] {
        let isOpen = connection.text("state") == "open"
        return [
            connection.shown("peer"), isOpen ? connection.shown("client") : "(handshake)", connection.time("since"),
            "\(connection.number("stored"))", ByteFormat.size(connection.number("received")),
            ByteFormat.size(connection.number("sent")), connection.rate("rate"),
        ]
    }

    private static func lines(_ rows: [[String]]) -> String { TextTable.lines(rows) }
}

extension JSONNode {
    fileprivate func text(_ key: String) -> String? {
        guard case .string(let text)? = self[key] else { return nil }
        return text
    }

    fileprivate func size(_ key: String) -> UInt64? {
        guard case .number(let digits)? = self[key] else { return nil }
        return UInt64(digits)
    }

    fileprivate func number(_ key: String) -> UInt64 { size(key) ?? 0 }

    fileprivate func real(_ key: String) -> Double {
        guard case .number(let digits)? = self[key] else { return 0 }
        return Double(digits) ?? 0
    }

    fileprivate func rate(_ key: String) -> String { ByteFormat.rate(real(key)) }

    fileprivate func list(_ key: String) -> [JSONNode] {
        guard case .array(let nodes)? = self[key] else { return [] }
        return nodes
    }

    /// The value of a member as text; a dash if the member is missing.
    fileprivate func shown(_ key: String) -> String { self[key]?.shown ?? "-" }

    fileprivate var shown: String {
        guard case .string(let text) = self else { return "-" }
        return text.escapedForDisplay
    }

    /// The time in the form `2026-12-31 23:59:59 UTC`.
    fileprivate func time(_ key: String) -> String {
        let text = shown(key)
        guard text.utf8.count == 20 else { return text }
        return "\(text.prefix(10)) \(text.dropFirst(11).dropLast()) UTC"
    }
}
